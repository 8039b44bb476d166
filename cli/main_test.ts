import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import t from "tap";
import { KubeError } from "../kube/index.ts";
import { run } from "../testkit/cli/command_fixture.ts";
import { fakeCluster } from "../testkit/cli/fake_cluster.ts";
import { golden } from "../testkit/cli/golden.ts";
import { parseArguments, parseDuration } from "./arguments.ts";
import { commandGroups } from "./commands.ts";
import { describeError } from "./errors.ts";
import { globalFlags } from "./global_flags.ts";
import { processHost } from "./host.ts";
import { paintFor } from "./io.ts";
import { editDistance, nearest } from "./suggest.ts";
import { age, textTable, wrapped } from "./text_table.ts";

t.test("help for all, for a group, for each command", async (t) => {
  for (const line of ["", "--help", "help"]) {
    const { code, stdout } = await run(line);
    t.equal(code, 0);
    t.equal(stdout, golden("help.txt", stdout), `refit ${line}`);
  }
  const group = await run("rollout");
  t.equal(group.stdout, golden("help_rollout.txt", group.stdout));
  const shown = commandGroups.filter((group) => group.isHidden !== true);
  for (const command of shown.flatMap((group) => group.commands)) {
    const { code, stdout } = await run(`${command.name} --help`);
    t.equal(code, 0, command.name);
    t.match(stdout, `Usage: refit ${command.name}`);
    t.equal((await run(`help ${command.name}`)).stdout, stdout);
  }
  const one = await run("rollout status -h");
  t.equal(one.stdout, golden("help_rollout_status.txt", one.stdout));
});

t.test("mistyped words get one line with a suggestion", async (t) => {
  const lines: [string, string][] = [
    ["rolout", 'error: unknown command "rolout"; did you mean "rollout"?\n'],
    ["rollout statsu clone/x", 'error: unknown command "rollout statsu"; did you mean "rollout status"?\n'],
    [
      "rollout status --watc",
      'error: unknown flag --watc for "refit rollout status"; did you mean --watch?\n',
    ],
    ["scale -q", 'error: unknown flag -q for "refit scale"; see "refit scale --help"\n'],
    ["xyzzy", 'error: unknown command "xyzzy"; see "refit --help"\n'],
    ["foo", 'error: unknown command "foo"; see "refit --help"\n'],
    ["status", 'error: unknown command "status"; did you mean "rollout status"?\n'],
    ["imge clone/x", 'error: unknown command "imge"; did you mean "set image"?\n'],
    ["install now", 'error: unexpected argument "now"; see "refit install --help"\n'],
    ["up -- now", 'error: unexpected argument "now"; see "refit up --help"\n'],
    ["create crr a b --pod p", 'error: unexpected argument "b"; see "refit create crr --help"\n'],
    [
      "migrate CloneSet web --from Deployment",
      'error: unexpected argument "web"; see "refit migrate --help"\n',
    ],
    ["get -n", "error: flag -n needs a value\n"],
    [
      "rollout status --watch=perhaps c/x",
      'error: invalid value "perhaps" for --watch: must be true or false\n',
    ],
  ];
  for (const [line, text] of lines) t.same(await run(line), { code: 1, stdout: "", stderr: text }, line);
});

t.test("version is the package's", async (t) => {
  const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  t.equal((await run("version --client")).stdout, `refit ${version}\n`);
  t.equal((await run("--version --client")).stdout, `refit ${version}\n`);
  t.same(await run("--version"), { code: 0, stdout: `refit ${version}\n`, stderr: "" }, "without a server");
});

t.test("a mistyped resource type gets a suggestion", async (t) => {
  const { stderr } = await run("rollout status clonset/x", { client: fakeCluster().client });
  t.equal(stderr, 'error: the server doesn\'t have a resource type "clonset"; did you mean "cloneset"?\n');
  t.match(
    (await run("why clne/x", { client: fakeCluster().client })).stderr,
    /"clne"; did you mean "clone"\?\n$/,
  );
});

t.test("global flags stand before or after the command", async (t) => {
  const asked: unknown[] = [];
  const host = {
    connect: async (request: object) => {
      asked.push(request);
      return { client: fakeCluster().client, namespace: "from-context" };
    },
  };
  await run("--context there -n here rollout pause statefulset.apps.kruise.io/web", { host });
  await run("rollout pause asts/web --context=there --request-timeout 5s", { host });
  t.match(asked, [{ context: "there" }, { context: "there", timeoutMs: 5000 }]);
});

t.test("flags: short with sign, joined, repeated, switches with values", (t) => {
  const table = {
    ...globalFlags,
    output: { kind: "text", short: "o", help: "" },
    watch: { kind: "switch", short: "w", default: "true", help: "" },
    "dry-run": { kind: "text", bare: "client", default: "none", help: "" },
    pods: { kind: "text", repeated: true, help: "" },
  } as const;
  const parsed = parseArguments(
    ["-o=json", "-w=false", "--dry-run", "x", "--pods", "a,b", "--pods=c", "--", "-o"],
    table,
    "refit",
  );
  t.equal(parsed.flags.text("output"), "json");
  t.equal(parsed.flags.on("watch"), false);
  t.equal(parsed.flags.text("dry-run"), "client");
  t.same(parsed.flags.list("pods"), ["a", "b", "c"]);
  t.same(parsed.words, ["x"]);
  t.same(parsed.rest, ["-o"]);
  t.throws(() => parsed.flags.text("unheard-of"), /not in the table/);
  t.end();
});

t.test("durations are Go's", (t) => {
  t.same(["15s", "1m30s", "500ms", "0", "2h", "1.5s", "5", "x", "", "5 s", "-1s"].map(parseDuration), [
    15_000,
    90_000,
    500,
    0,
    7_200_000,
    1500,
    5000,
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
  t.end();
});

t.test("colours only on a terminal that wants them", (t) => {
  t.equal(paintFor({ isTTY: true, env: {} })("red", "x"), "\u001b[31mx\u001b[39m");
  t.equal(paintFor({ isTTY: true, env: { NO_COLOR: "1" } })("red", "x"), "x");
  t.equal(paintFor({ isTTY: true, env: { TERM: "dumb" } })("red", "x"), "x");
  t.equal(paintFor({ isTTY: false, env: {} })("red", "x"), "x");
  t.end();
});

t.test("tables align, styles take no cells, ages are kubectl's", (t) => {
  const paint = paintFor({ isTTY: true, env: {} });
  t.same(
    textTable(
      ["A", "B"],
      [
        ["long cell", "1"],
        [paint("red", "x"), "2"],
      ],
    ),
    ["A           B", "long cell   1", `${paint("red", "x")}           2`],
  );
  t.same(
    [5, 119, 120, 200, 660, 7200, 12_000, 90_000, 200_000, 900_000].map((seconds) => age(seconds * 1000)),
    ["5s", "119s", "2m", "3m20s", "11m", "120m", "3h20m", "25h", "2d7h", "10d"],
  );
  t.end();
});

t.test("suggestions know swapped letters and prefixes", (t) => {
  t.equal(editDistance("statsu", "status"), 1);
  t.equal(editDistance("", "abc"), 3);
  t.equal(nearest("resta", ["restart", "resume"]), "restart");
  t.equal(nearest("zzzzzz", ["restart"]), undefined);
  t.equal(nearest("foo", ["logs", "up"]), undefined, "half of a short word is not near");
  t.equal(nearest("gte", ["get", "set"]), "get");
  t.end();
});

t.test("errors of no server and of no kubeconfig say what to do, in one line", async (t) => {
  const folder = t.testdir({ broken: "garbage: [\n" });
  for (const [name, why] of [
    ["none", "there is no such file"],
    ["broken", "deficient indentation"],
  ] as const) {
    const kubeconfig = join(folder, name);
    const { stderr } = await run(`get pods --kubeconfig ${kubeconfig}`, { host: processHost() });
    t.match(
      stderr,
      new RegExp(`^error: kubeconfig ${kubeconfig}: ${why}.*; give another one with --kubeconfig FILE.*\n$`),
    );
  }
  const slow = describeError(new KubeError("Timeout", "GET /apis at https://h: no answer within 1s"));
  t.match(
    slow,
    /^Unable to connect to the server: GET .*; where it is only slow, give a longer --request-timeout$/,
  );
  const network = describeError(new KubeError("Network", "GET /apis at https://h: ECONNREFUSED"));
  t.match(network, /^Unable to connect to the server: GET .*; see whether it runs, .*--kubeconfig/);
  const none = describeError(new KubeError("Config", "no credentials for an API server: no --kubeconfig"));
  t.match(none, /^error: no credentials .*; give --kubeconfig FILE, or start a cluster .*"refit up"$/);
});

t.test("words are wrapped without a loss, and no line is wider than it may be unless it is one word", (t) => {
  const text = fc.array(fc.stringMatching(/^[!-~]{1,30}$/), { maxLength: 30 });
  fc.assert(
    fc.property(text, fc.integer({ min: 1, max: 60 }), (words, width) => {
      const plain = words.join(" ");
      const lines = wrapped(plain, width);
      return lines.join(" ") === plain && lines.every((line) => line.length <= width || !line.includes(" "));
    }),
    { numRuns: 2_000 },
  );
  t.same(wrapped("one two three", Number.POSITIVE_INFINITY), ["one two three"]);
  t.end();
});

t.test("errors that are no Errors still print", (t) => {
  t.equal(describeError("odd"), "error: odd");
  t.end();
});
