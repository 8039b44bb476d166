import t, { type Test } from "tap";
import { run } from "../../testkit/cli/command_fixture.ts";
import { createExamples, startPeopleSandbox } from "../../testkit/cli/people_sandbox.ts";
import { processHost } from "../host.ts";
import { parseManifests } from "../manifest_input.ts";
import { workloads } from "../rollout/workloads.ts";
import { peopleRoles } from "./people.ts";

const viewer = "kruise-viewer-role";
const operator = "kruise-operator-role";
/** A user of each role, who is called as the role. */
async function start(t: Test) {
  const { api, kubeconfigOf, refusals } = await startPeopleSandbox(t, peopleRoles());
  const host = processHost();
  const as = (user: string, line: string) =>
    run(`${line} --kubeconfig ${kubeconfigOf(user)} --request-timeout 20s`, { host });
  return { api, as, refusals };
}

t.test("the roles for people let every command do its work, and no more", async (t) => {
  const { api, as, refusals } = await start(t);
  const made = await createExamples(api);
  const refusedTo = async (user: string, line: string): Promise<string[]> => {
    refusals.length = 0;
    const { stderr } = await as(user, line);
    return [...refusals, ...(stderr.includes("Forbidden") ? [stderr] : [])];
  };
  const isRolledOut = (kind: string) => workloads.some((each) => each.kind === kind);

  await t.test("a viewer reads", async (t) => {
    t.ok(made.length > 18, `${made.length} objects`);
    for (const { kind, name } of made) {
      // Its copies may be Secrets, which the role does not read.
      const isOfSecrets = kind === "ResourceDistribution";
      const lines = [`get ${name}`, ...(isOfSecrets ? [] : [`why ${name}`, `plan ${name}`, `tree ${name}`])];
      if (isRolledOut(kind))
        lines.push(`rollout status ${name} -w=false --detail`, `rollout history ${name}`);
      for (const line of lines) t.same(await refusedTo(viewer, line), [], line);
    }
    const all = await refusedTo(viewer, "why -A");
    t.match(all, [/list resource "configmaps"/], "of the ResourceDistribution alone");
    t.equal(all.length, 1);
    for (const line of ["why clone -A", "why deployment -A", "why pod/web-waits", "get clone -A"])
      t.same(await refusedTo(viewer, line), [], line);
  });

  await t.test("a viewer changes nothing", async (t) => {
    for (const line of [
      "rollout pause clone/web",
      "scale clone/web --replicas 9",
      "rollout restart clone/web",
    ])
      t.not((await refusedTo(viewer, line)).length, 0, line);
  });

  await t.test("an operator steers rollouts and starts jobs", async (t) => {
    for (const line of [
      "rollout pause clone/web",
      "rollout resume clone/web",
      "rollout pause acj/nightly",
      "rollout partition clone/web --to 1",
      "rollout promote clone/web",
      "rollout restart asts/store",
      "rollout undo clone/web",
      "set image clone/web web=nginx:1.21",
      "set env clone/web A=b",
      "scale clone/web --replicas 3",
      "scaledown clone/web --pods web-waits",
      "create crr once --pod web-waits",
      "create bcj once --image busybox:1.34",
      "create job once --image busybox:1.34",
    ])
      t.same(await refusedTo(operator, line), [], line);
  });

  await t.test("an operator neither runs commands in pods nor touches what is made for nodes", async (t) => {
    t.match(await refusedTo(operator, "expose clone/web --port 80 --name other"), [
      /create resource "services"/,
    ]);
    const rules = JSON.stringify(peopleRoles());
    t.notMatch(rules, /"(secrets|pods\/exec|\*)"/);
  });
});

t.test("the roles are printed alone, and a viewer's rules have no verb that writes", async (t) => {
  const { code, stdout } = await run("manifests --roles");
  t.equal(code, 0);
  const printed = parseManifests(stdout, "roles");
  t.same(
    printed.map(({ kind, metadata }) => [kind, metadata.name]),
    [
      ["ClusterRole", viewer],
      ["ClusterRole", operator],
    ],
  );
  t.notMatch(JSON.stringify(printed[0]), /"(create|update|patch|delete|\*)"/);
});
