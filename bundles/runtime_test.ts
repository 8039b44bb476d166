import { join } from "node:path";
import t from "tap";
import { runningRuntime } from "./runtime.ts";

const lock = JSON.stringify({ packages: { "node_modules/node": { version: "24.1.0" } } });

t.test("the Node that runs is taken in the locked version, with its licence", async (t) => {
  const root = t.testdir({ "package-lock.json": lock, node: { LICENSE: "MIT", bin: {} } });
  const file = join(root, "node/bin/node");
  t.same(runningRuntime(root, "24.1.0", file), { version: "24.1.0", file, licence: "MIT" });
  t.throws(() => runningRuntime(root, "24.2.0", file), {
    name: "BundleError",
    message: "the executable holds Node 24.1.0, and this is 24.2.0; run the build with that one",
  });
  t.throws(() => runningRuntime(root, "24.1.0", join(root, "other/bin/node")), {
    name: "BundleError",
    message: /licence is not at .*other.LICENSE/,
  });
});
