/** Cases that hold for every Kubernetes API server; the sandbox must not be told from a real one by them. */
import assert from "node:assert/strict";
import { type Fields, textAt } from "../json.ts";
import { admissionCases } from "./admission_cases.ts";
import { applyCases } from "./apply_cases.ts";
import { conditionCases } from "./condition_cases.ts";
import { customCases } from "./custom_cases.ts";
import { deleteCases } from "./delete_cases.ts";
import { listCases } from "./list_cases.ts";
import { networkingCases } from "./networking_cases.ts";
import { patchCases } from "./patch_cases.ts";
import { refusalCases } from "./refusal_cases.ts";
import { tableCases } from "./table_cases.ts";
import type { Answer, CallOptions, Target } from "./target.ts";
import { watchCases } from "./watch_cases.ts";

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

export const contractCases: readonly ContractCase[] = [
  ...refusalCases,
  ...listCases,
  ...watchCases,
  ...patchCases,
  ...applyCases,
  ...deleteCases,
  ...customCases,
  ...tableCases,
  ...admissionCases,
  ...conditionCases,
  ...networkingCases,
];

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
