import t from "tap";
import { run } from "../../testkit/cli/command_fixture.ts";
import { at, listAt, textAt } from "../fields.ts";
import { parseManifests } from "../manifest_input.ts";
import { builtinType } from "./apply.ts";

async function deployment(flags: string) {
  const { code, stdout } = await run(`manifests ${flags}`);
  t.equal(code, 0);
  return parseManifests(stdout, "manifests").find(({ kind }) => kind === "Deployment");
}

t.test("the Deployment runs the controller behind the Service of the webhooks", async (t) => {
  const found = await deployment(
    "--controller-image refit:1 --controller-replicas 3 --controller-flag=--v=5",
  );
  t.match(found, {
    metadata: { name: "kruise-controller-manager", namespace: "kruise-system" },
    spec: { replicas: 3, selector: { matchLabels: { "control-plane": "controller-manager" } } },
  });
  const pod = at(found, "spec", "template", "spec");
  t.equal(textAt(pod, "serviceAccountName"), "kruise-manager");
  const args = listAt(pod, "containers", 0, "args").map(String);
  t.equal(args.at(-1), "--v=5");
  // Every argument is one that the controller takes.
  const refused = await run(`controller ${args.map((arg) => arg.replace("json", "xml")).join(" ")}`);
  t.match([refused.code, refused.stderr], [1, /--logging-format/]);
});

t.test("no image, no Deployment; inside or outside, not both", async (t) => {
  t.equal(await deployment(""), undefined);
  const both = await run("manifests --controller-image refit:1 --webhook-host 10.0.0.1");
  t.match([both.code, both.stderr], [1, /give one of them/]);
});

t.test("every object of an installation can be applied and removed", async (t) => {
  const { stdout } = await run(
    "manifests --controller-image refit:1 --agent-image agent:1 --guard-definitions",
  );
  for (const object of parseManifests(stdout, "manifests")) t.doesNotThrow(() => builtinType(object));
});
