import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { createRegistry, nullLog } from "../../kube/index.ts";
import { CliError } from "../errors.ts";
import { refusalRecorder } from "./refusals.ts";

const deletion = {
  event: "DeletionProtection",
  namespace: "default",
  name: "web",
  userName: "someone",
} as const;

t.test("refusals are counted and audited", async (t) => {
  const folder = join(t.testdir({}), "audit");
  const registry = createRegistry();
  const refused = refusalRecorder(registry, nullLog, { folder, required: true });
  refused({ ...deletion, kind: "Deployment" });
  refused({ ...deletion, kind: "Namespace", namespace: "" });
  refused({ ...deletion, kind: "CustomResourceDefinition", namespace: "", name: "toys.case.example" });
  refused({
    ...deletion,
    event: "PodUnavailableBudget",
    kind: "Pod",
    name: "web-1",
    counted: { kind: "CloneSet", name: "web" },
  });
  const text = await registry.metrics();
  for (const line of [
    'workload_deletion_protection{kind_namespace_name="Deployment_default_web",username="someone"} 1',
    'namespace_deletion_protection{name="web",username="someone"} 1',
    'crd_deletion_protection{name="toys.case.example",username="someone"} 1',
    'pod_unavailable_budget{kind_namespace_name="CloneSet_default_web",username="someone"} 1',
  ]) {
    t.ok(text.includes(line), line);
  }
  const file = join(folder, "protection.log");
  let lines: string[] = [];
  while (lines.length < 4) {
    await new Promise((resolve) => setImmediate(resolve));
    lines = readFileSync(file, "utf8").split("\n").filter(Boolean);
  }
  t.same(JSON.parse(lines.find((line) => line.includes("Deployment")) ?? ""), {
    Event: "DeletionProtection",
    Kind: "Deployment",
    Namespace: "default",
    Name: "web",
    UserAgent: "someone",
  });
  t.ok(lines.some((line) => line.includes('"Event":"PodUnavailableBudget","Kind":"Pod"')));
});

t.test("a folder that was asked for must be writable; the usual one is used where it exists", async (t) => {
  const file = join(t.testdir({ taken: "a file" }), "taken");
  t.throws(() => refusalRecorder(createRegistry(), nullLog, { folder: file, required: true }), CliError);
  t.doesNotThrow(() => {
    refusalRecorder(createRegistry(), nullLog, { folder: file, required: false })({
      ...deletion,
      kind: "CloneSet",
    });
  });
});
