/** What `bench` can do, in words. */
import type { Scenario } from "./scenario.ts";

export function usage(scenarios: readonly Scenario[]): string {
  const width = Math.max(...scenarios.map(({ name }) => name.length));
  const list = scenarios.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`).join("\n");
  return `npm run bench -- SCENARIO [--pods 1000[,5000…]] [--nodes N] [--out result.json [--page result.html]]
npm run bench -- compare BEFORE.json[,MORE.json…] AFTER.json[,MORE.json…] [--seed 1] [--page compare.html]
npm run bench -- report RESULT.json… --page report.html
npm run bench -- clean --kubeconfig FILE [--run RUN]
npm run bench -- agent [--seconds 20] [--kubeconfig FILE --socket SOCKET --node NAME [--images A,B] [--rounds 4]] [--out FILE]
npm run bench:check -- [--against REF] [--scenario rollout] [--pods 300] [--rounds 3] [--threshold 1.25]

Scenarios:
${list}

Who is measured:
  (nothing)             the project's own controller, started by the bench, before a sandbox API server
  --kubeconfig FILE     the same before this cluster, which must have no manager yet and run on this machine
  --controller FILE     another build of it to start, such as dist/refit.mjs
  --pid N               with --kubeconfig: the manager of process N, whatever it is
  --metrics-url URL     of that manager: http://HOST:PORT/metrics
  --annotation K=V      on the workloads, as often as needed
  --label NAME          name of the manager in results

What happens:
  --pods N[,N…]         sizes, a run each, 1 to 100000; default 1000 (many, one: 10000; webhook: 20000; sidecarset, uniteddeployment,
                        workloadspread: 5000; hold: 100000; per node: 100)
  --nodes N             hollow nodes, 1 to 5000; default one for 50 pods
  --max-unavailable A   number or percentage; default 10%
  --size N              pods of one workload of \`many\` and \`hold\`; default 10
  --steps A,B,…         partitions of \`partition\`; default 90%,50%,0
  --in-flight N         requests at once of \`admission\`, \`webhook\` and \`sidecarset\`, 1 to 64; default 16
  --sidecar-sets N      SidecarSets of \`webhook\`, 0 to 100; default 0
  --namespaces N        targets of \`resourcedistribution\`, 1 to 100000; default 2000
  --limit N             patches of each kind of the bare loop, 0: none; default 400
  --start, --pull, --ready MS
                        of hollow nodes: 200, 100-400 (uniform) or 100-4000:tail; defaults 200, 0, 0
  --crash P%            containers that end once and are restarted; default 0%
  --pull-failures P%    pods whose image cannot be pulled at first; default 0%
  --seed N              of all chance; default 1
  --repeat N            runs of each size; default 1
  --timeout S           of each phase; default 900

The exit code is 1 when a budget was violated, 2 when the bench could not do its work, 130 after Ctrl-C.`;
}
