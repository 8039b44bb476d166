/** tap as the contract's test runner. */
import type { Test } from "tap";
import type { ContractTest } from "./contract.ts";

export function underTap(t: Test): ContractTest {
  return {
    test: (name, run) => t.test(name, (inner) => run(underTap(inner))),
    ok: (value, message = "ok") => t.ok(value, message),
    equal: (found, wanted, message = "equal") => t.equal(found, wanted, message),
    same: (found, wanted, message = "same") => t.same(found, wanted, message),
    match: (found, wanted) => t.match(found, wanted),
    rejects: async (promise, wanted, message = "rejects") => {
      const error = await promise.then(
        () => undefined,
        (reason: unknown) => reason,
      );
      t.ok(error, message);
      if (typeof wanted === "function") t.type(error, wanted.name, message);
      else t.match(error, wanted, message);
    },
  };
}
