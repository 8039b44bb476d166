/** One case of the contract, and what it is given. */
import assert from "node:assert/strict";
import { type Fields, textAt } from "../../sandbox/json.ts";
import type { Answer, CallOptions, Target } from "./target.ts";

export interface Contract {
  readonly target: Target;
  /** A namespace of the case's own. */
  readonly namespace: string;
  /** `/api/v1/namespaces/<own>/<plural>`. */
  path(plural: string, ...rest: readonly string[]): string;
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  /** Calls and requires this code. */
  expect(code: number, method: string, path: string, options?: CallOptions): Promise<Fields>;
  /** Asks again until the answer fits; for what a server does a little later. */
  until(path: string, fits: (answer: Answer) => boolean): Promise<Answer>;
}

export interface ContractCase {
  readonly name: string;
  run(contract: Contract): Promise<void>;
}

const patience = 200;

/** Runs one case in a new namespace, which is removed again. Throws what does not hold. */
export async function runCase(target: Target, entry: ContractCase): Promise<void> {
  const made = await target.call("POST", "/api/v1/namespaces", {
    body: { metadata: { generateName: "contract-" } },
  });
  assert.equal(made.code, 201, made.text);
  const namespace = textAt(made.json, "metadata", "name");
  try {
    await entry.run(contractIn(target, namespace));
  } finally {
    await target.call("DELETE", `/api/v1/namespaces/${namespace}`);
  }
}

function contractIn(target: Target, namespace: string): Contract {
  return {
    target,
    namespace,
    path: (plural, ...rest) => [`/api/v1/namespaces/${namespace}/${plural}`, ...rest].join("/"),
    call: (method, path, options) => target.call(method, path, options),
    async expect(code, method, path, options) {
      const answer = await target.call(method, path, options);
      assert.equal(answer.code, code, `${method} ${path}: ${answer.text}`);
      return answer.json;
    },
    async until(path, fits) {
      for (let attempt = 0; attempt < patience; attempt++) {
        const answer = await target.call("GET", path);
        if (fits(answer)) return answer;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      throw new Error(`${path} did not become what it should`);
    },
  };
}
