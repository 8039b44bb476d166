import { EventEmitter } from "node:events";
import t from "tap";
import { testLog } from "../testkit/kube/fake_log.ts";
import { nullMetrics } from "./metrics_types.ts";
import { endOnUnexpectedErrors } from "./unexpected_errors.ts";

class ProcessStub extends EventEmitter {
  readonly exits: number[] = [];
  exit(code: number): void {
    this.exits.push(code);
  }
}

t.test("an error that nobody caught is logged with its stack, counted, and ends the process", (t) => {
  for (const [event, where] of [
    ["uncaughtException", "exception"],
    ["unhandledRejection", "rejection"],
  ] as const) {
    const stub = new ProcessStub();
    const log = testLog();
    const counted: string[] = [];
    const metrics = { ...nullMetrics, unexpectedError: (at: string) => counted.push(at) };
    const stop = endOnUnexpectedErrors(stub, log, metrics);
    stub.emit(event, new TypeError("a bug"));
    stub.emit(event, "no error at all");
    t.same(stub.exits, [1, 1]);
    t.same(counted, [where, where]);
    t.match(log.lines[0], {
      level: "error",
      fields: { where, error: { name: "TypeError", message: "a bug", stack: /unexpected_errors_test/ } },
    });
    t.match(log.lines[1], { fields: { error: { message: "no error at all" } } });
    stop();
    t.equal(stub.listenerCount(event), 0);
  }
  t.end();
});
