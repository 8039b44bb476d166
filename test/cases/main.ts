/**
 * `npm run cases -- [--kubeconfig FILE [--start-controller]] [CASE...]`: runs acceptance suites on a sandbox of its
 * own, or on the cluster of the kubeconfig, where a controller must run unless this starts one.
 */
import { parseArgs } from "node:util";
import { connect } from "../cluster/api.ts";
import { install } from "../cluster/install.ts";
import { exitOnInterrupt } from "../cluster/processes.ts";
import { suites } from "./all.ts";
import { runSuites, type Target } from "./runner.ts";
import { runOnSandbox } from "./sandbox_target.ts";
import { select } from "./select.ts";
import { Tally } from "./tally.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    kubeconfig: { type: "string" },
    "start-controller": { type: "boolean", default: false },
    agents: { type: "boolean", default: false },
  },
});

exitOnInterrupt(() => Promise.resolve());
const tally = new Tally((line) => console.log(line));
const chosen = select(suites, positionals);
if (values.kubeconfig === undefined) {
  await runOnSandbox(chosen, tally.report);
} else {
  const target: Target = {
    api: connect(values.kubeconfig),
    kubeconfig: values.kubeconfig,
    simulated: false,
    agents: values.agents,
    startsControllers: values["start-controller"],
    parallel: 4,
  };
  if (values["start-controller"]) await install(target.api, values.kubeconfig);
  await runSuites([target], chosen, { report: tally.report });
  await target.api.close();
}
console.log(tally.line());
process.exitCode = tally.failed > 0 ? 1 : 0;
