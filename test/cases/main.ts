/**
 * `npm run cases -- [--kubeconfig FILE [--start-controller]] [CASE...]`: runs acceptance suites on a sandbox of its
 * own, or on the cluster of the kubeconfig, where a controller must run unless this starts one.
 */
import { parseArgs } from "node:util";
import { connect } from "../cluster/api.ts";
import { install } from "../cluster/install.ts";
import { exitOnInterrupt } from "../cluster/processes.ts";
import { readArguments, suiteLines, usageOf } from "../usage.ts";
import { suites } from "./all.ts";
import { runSuites, type Target } from "./runner.ts";
import { runOnSandbox } from "./sandbox_target.ts";
import { select } from "./select.ts";
import { Tally } from "./tally.ts";

const options = {
  kubeconfig: {
    type: "string",
    value: "FILE",
    help: "The cluster to run on; else a sandbox of its own. A controller must run there.",
  },
  "start-controller": {
    type: "boolean",
    default: false,
    help: "Install the definitions there and start the controller.",
  },
  agents: { type: "boolean", default: false, help: "The nodes of that cluster run the agent." },
  help: { type: "boolean", short: "h", default: false, help: "Print help." },
} as const;

const { values, positionals } = readArguments(() => parseArgs({ allowPositionals: true, options }));
if (values.help) {
  const about = usageOf("Runs acceptance suites.", "npm run cases -- [options] [CASE...]", options);
  console.log(`${about}\n\nCases; all where none is named:\n${suiteLines(suites)}`);
  process.exit(0);
}
const chosen = readArguments(() => select(suites, positionals));

exitOnInterrupt(() => Promise.resolve());
const tally = new Tally((line) => console.log(line));
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
