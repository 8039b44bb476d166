/**
 * The CRI contract with the client on Deno, where tap does not run:
 * `deno run … testkit/cri_contract/on_deno.ts '{"socket":…,"image":…,"unknownImage":…,"logFolder":…,"onTheHost":…}'`.
 * Prints a line for each check and, last, `N passed, N failed`.
 */
import assert from "node:assert/strict";
import process from "node:process";
import { createCriClient } from "../../agent/cri/client.ts";
import { messageOf } from "../../agent/errors.ts";
import { isJsonObject, systemClock } from "../../kube/index.ts";
import { NamespaceMode } from "../../proto/cri/index.ts";
import { type ContractTest, criContract } from "./contract.ts";

const counts = { passed: 0, failed: 0 };

class Checks implements ContractTest {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  async test(name: string, run: (t: ContractTest) => Promise<void>): Promise<void> {
    const inner = new Checks(`${this.#path}${name}: `);
    try {
      await run(inner);
    } catch (error) {
      inner.#count("ended", () => {
        throw error;
      });
    }
  }

  ok(value: unknown, message = "ok"): void {
    this.#count(message, () => assert.ok(value));
  }

  equal<T>(found: T, wanted: T, message = "equal"): void {
    this.#count(message, () => assert.equal(found, wanted));
  }

  same<T>(found: T, wanted: T, message = "same"): void {
    this.#count(message, () => assert.deepEqual(found, wanted));
  }

  match(found: unknown, wanted: RegExp | object): void {
    this.#count("match", () => matches(found, wanted));
  }

  async rejects(promise: Promise<unknown>, wanted: object, message = "rejects"): Promise<void> {
    const error: unknown = await promise.then(
      () => new Error("it did not reject"),
      (reason: unknown) => reason,
    );
    this.#count(message, () =>
      typeof wanted === "function"
        ? assert.equal(error instanceof Error && error.name, wanted.name)
        : matches(error, wanted),
    );
  }

  #count(what: string, check: () => void): void {
    try {
      check();
      counts.passed++;
    } catch (error) {
      counts.failed++;
      console.log(`not ok ${this.#path}${what}: ${messageOf(error)}`);
    }
  }
}

/** As tap's `match`: each member of `wanted` is in `found`; a pattern fits the text. */
function matches(found: unknown, wanted: unknown): void {
  if (wanted instanceof RegExp) assert.match(String(found), wanted);
  else if (typeof wanted === "object" && wanted !== null) {
    assert.ok(typeof found === "object" && found !== null, `${String(found)} is no object`);
    for (const [name, value] of Object.entries(wanted)) matches(Reflect.get(found, name), value);
  } else assert.equal(found, wanted);
}

async function main(text: string): Promise<void> {
  const given: unknown = JSON.parse(text);
  if (!isJsonObject(given)) throw new TypeError("the argument must be a JSON object");
  const word = (name: string): string => String(given[name] ?? "");
  const client = createCriClient(word("socket"), { clock: systemClock });
  const onTheHost = { namespace_options: { network: NamespaceMode.NODE } };
  const sandbox = { log_directory: word("logFolder"), linux: { security_context: onTheHost } };
  await criContract(new Checks(""), {
    client,
    image: word("image"),
    unknownImage: word("unknownImage"),
    sandbox: given["onTheHost"] === true ? sandbox : {},
  });
  client.close();
  console.log(`${counts.passed} passed, ${counts.failed} failed`);
  process.exitCode = counts.failed > 0 ? 1 : 0;
}

await main(process.argv[2] ?? "{}");
