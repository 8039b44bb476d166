import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { run } from "../../testkit/cli/command_fixture.ts";
import { commandLinesOf } from "./command_lines.ts";

const root = join(import.meta.dirname, "../..");

t.test("command lines are found in code, and end where the shell's part begins", async (t) => {
  const page =
    "a\n    refit why clone/x | less\n$ refit up --pods 3 # three\n`refit plan -f 'a b.yaml' [-n NS]`\n";
  t.same(commandLinesOf(page), [
    ["why", "clone/x"],
    ["up", "--pods", "3"],
    ["plan", "-f", "a b.yaml"],
  ]);
  t.same(commandLinesOf("KUBECONFIG=k refit get clone \\\n  -n x\nsee refit why\n"), [
    ["get", "clone", "-n", "x"],
  ]);
});

t.test("every command line of the documents has a command and flags that are there", async (t) => {
  const documents = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" });
  const pages = ["README.md", "SECURITY.md", ...documents.map((name) => join("docs", name))].filter((name) =>
    name.endsWith(".md"),
  );
  let count = 0;
  for (const page of pages) {
    for (const words of commandLinesOf(readFileSync(join(root, page), "utf8"))) {
      count++;
      const asked = words.filter((word) => word !== "--help");
      const { code, stderr } = await run([...asked, "--help"]);
      t.same({ code, stderr }, { code: 0, stderr: "" }, `${page}: refit ${words.join(" ")}`);
    }
  }
  t.ok(count > 40, `${count} lines`);
});
