/** The contract, against the sandbox; with CONTRACT_KUBECONFIG set, against that API server as well. */
import { readFileSync } from "node:fs";
import t from "tap";
import { systemClock } from "../kube/core/index.ts";
import { runCase } from "../testkit/api_contract/case.ts";
import { contractCases } from "../testkit/api_contract/contract.ts";
import { credentialsOf, openTarget } from "../testkit/api_contract/target.ts";
import { startSandbox } from "./index.ts";

const sandbox = await startSandbox({ seed: 7, clock: systemClock });
const kubeconfigs = new Map([["sandbox", sandbox.kubeconfig]]);
const real = process.env["CONTRACT_KUBECONFIG"];
if (real !== undefined) kubeconfigs.set("real server", readFileSync(real, "utf8"));

for (const [name, kubeconfig] of kubeconfigs) {
  t.test(name, async (t) => {
    const target = openTarget(credentialsOf(kubeconfig));
    for (const entry of contractCases) {
      await t.test(entry.name, async () => {
        await runCase(target, entry);
      });
    }
    await target.close();
  });
}

t.teardown(() => sandbox.stop());
