import { getEventListeners } from "node:events";
import fc from "fast-check";
import t from "tap";
import { AbortListeners } from "./abort_listeners.ts";

const step = fc.record({
  signal: fc.nat(2),
  act: fc.constantFrom("add", "give up", "abort"),
  which: fc.nat(9),
});

t.test("whoever has not given up hears of the abort once, and a signal has one listener for all", (t) => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const listeners = new AbortListeners();
      const controllers = [0, 1, 2].map(() => new AbortController());
      const waiting = controllers.map(() => new Map<number, () => void>());
      const expected: number[] = [];
      const heard: number[] = [];
      let next = 0;
      for (const { signal: number, act, which } of steps) {
        const controller = controllers[number];
        const held = waiting[number];
        if (controller === undefined || held === undefined || controller.signal.aborted) continue;
        if (act === "add") {
          const id = next++;
          held.set(
            id,
            listeners.add(controller.signal, () => heard.push(id)),
          );
        } else if (act === "give up") {
          const [id, leave] = [...held][which % Math.max(1, held.size)] ?? [];
          leave?.();
          leave?.();
          if (id !== undefined) held.delete(id);
        } else {
          expected.push(...held.keys());
          held.clear();
          controller.abort();
        }
        t.equal(getEventListeners(controller.signal, "abort").length, held.size > 0 ? 1 : 0);
      }
      t.same(heard, expected);
    }),
  );
  t.end();
});
