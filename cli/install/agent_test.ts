import t from "tap";
import { run } from "../../testkit/cli/command_fixture.ts";
import { golden } from "../../testkit/cli/golden.ts";
import { at, listAt, textAt } from "../fields.ts";
import { parseManifests } from "../manifest_input.ts";
import { agentRules, agentSecretRules } from "./access.ts";

async function daemonSet(flags: string) {
  const { code, stdout } = await run(`manifests ${flags}`);
  t.equal(code, 0);
  return parseManifests(stdout, "manifests").find(({ kind }) => kind === "DaemonSet");
}

t.test("the DaemonSet of an image that has Node, and of one that has Deno", async (t) => {
  const { stdout } = await run("manifests --agent-image refit-agent:1");
  const text = stdout.split("---\n").find((object) => /^kind: DaemonSet$/m.test(object)) ?? "";
  t.equal(text, golden("agent_daemon_set.yaml", text));
  const deno = await daemonSet("--agent-image refit-agent:1 --agent-runtime deno");
  const command = listAt(deno, "spec", "template", "spec", "containers", 0, "command").map(String);
  t.same(command.slice(0, 2), ["deno", "run"]);
  t.ok(command.includes("--no-prompt"), "what is not allowed is refused, not asked for");
  t.notOk(command.some((flag) => /^--allow-(all|run|sys|ffi|import)/.test(flag) || flag === "-A"));
  const listed = command.filter((flag) => /^--allow-(read|write)/.test(flag));
  t.equal(listed.length, 2);
  t.ok(
    listed.every((flag) => /=./.test(flag)),
    "each names what it allows",
  );
});

t.test("no image: its access, but no DaemonSet", async (t) => {
  t.equal(await daemonSet(""), undefined);
  const { stdout } = await run("manifests");
  t.match(stdout, /kind: ClusterRoleBinding\nmetadata:\n {2}name: kruise-daemon-rolebinding/);
});

t.test("the socket's folder and flags go where the agent looks", async (t) => {
  const found = await daemonSet(
    "--agent-image a:1 --agent-socket-folder /run/k3s --agent-flag=--direct-swap=true --agent-flag=--v=5",
  );
  const pod = at(found, "spec", "template", "spec");
  t.equal(textAt(pod, "volumes", 0, "hostPath", "path"), "/run/k3s");
  t.same(listAt(pod, "containers", 0, "args").slice(-2), ["--direct-swap=true", "--v=5"]);
  const wrong = await run("manifests --agent-image a:1 --agent-runtime bun");
  t.match([wrong.code, wrong.stderr], [1, /"bun" for --agent-runtime: must be node or deno/]);
});

t.test("the agent may read secrets in one namespace only, and writes nothing but status and events", (t) => {
  for (const { resources, verbs, apiGroups } of agentRules()) {
    t.notOk([...resources, ...verbs, ...apiGroups].includes("*"));
    t.notOk(resources.includes("secrets"));
    const writes = verbs.some((verb) => !["get", "list", "watch"].includes(verb));
    if (writes)
      t.ok(
        resources.every((one) => one === "events" || one.endsWith("/status")),
        resources.join(),
      );
  }
  t.same(agentSecretRules, [{ apiGroups: [""], resources: ["secrets"], verbs: ["get"] }]);
  t.end();
});
