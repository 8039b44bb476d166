/**
 * No text stalls an event loop: every exported function whose first parameter is text, driven with hostile text of 1 kB and
 * of 64 kB, costs at most in proportion to the length. Costs are processor time of this thread,
 * the least of several measurements.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import t from "tap";

const root = new URL("../../", import.meta.url).pathname;
/** Rooms and folders that see text of users. */
const folders = ["kube/core", "kube/codecs", "crds", "node", "controller", "agent", "sandbox"];
const notProduct =
  /(_test|_fixture|_bench|testing|fake_\w+|gen_\w+)\.ts$|\/(gen|contract|testdata)\/|\/_|\/model\.ts$/;

/** Not driven, and why. */
const exempt: Readonly<Record<string, string>> = {
  "crds/columns.ts": "takes descriptions that stand in the sources",
  "crds/dsl.ts": "takes descriptions that stand in the sources",
  "crds/fragments.ts": "takes descriptions that stand in the sources",
  "crds/probe_fragments.ts": "takes descriptions that stand in the sources",
  "agent/cri/client.ts createCriClient": "opens a connection",
  "agent/state/store.ts filesIn": "takes a folder of the settings",
  "agent/images/docker_config_files.ts dockerConfigFiles": "takes folders of the settings",
  "controller/runtime/admission/certificates/directory.ts": "takes a folder of the settings",
  "sandbox/certificates.ts": "takes host names of the settings",
  "sandbox/kubeconfig.ts": "takes what the sandbox made itself",
};

type Drive = (run: (...given: readonly unknown[]) => unknown, text: string) => unknown;
const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** Functions that need more than the text, or meet it elsewhere than in front. */
const drives: Readonly<Record<string, Drive>> = {
  scaledValue: (run, text) => run(`${text}%`, 10, true),
  scaledValueOfFraction: (run, text) => run(`${text}%`, 10, true),
  partitionReplicas: (run, text) => run(`${text}%`, 10),
  quantityCompare: (run, text) => run(text, text),
  quantityEqual: (run, text) => run(text, `${text} `),
  quantityAdd: (run, text) => run(text, text),
  matchingLogins: (run, text) => run([{ pattern: text, login: {} }], text),
  parseDockerConfig: (run, text) =>
    run(JSON.stringify({ auths: { [text]: { auth: base64(`${text}:x`) }, b: { auth: base64(text) } } }), "x"),
  patternMatches: (run, text) => run(text, `${text}b`),
  parseAnswer: (run, text) =>
    run(
      JSON.stringify({
        kind: "CredentialProviderResponse",
        apiVersion: "v1",
        cacheKeyType: "Image",
        cacheDuration: text,
        auth: { [text]: { username: "a", password: "b" } },
      }),
      { name: "p", apiVersion: "v1", cacheMs: 0 },
    ),
  imageReference: (run, text) => [run(text, "x"), run("x", text)],
  ordinalOf: (run, text) => run("web", `web-${text}`),
  formatError: (run, text) =>
    ["date-time", "date", "ipv4", "ipv6", "uuid", "byte", "email", "hostname", "uri", "duration", "cidr"].map(
      (format) => run(format, text),
    ),
  parseSchedule: (run, text) => [
    attempt(() => run(text)),
    attempt(() => run(`${text} * * * *`)),
    attempt(() => run(`@every ${text}`)),
    attempt(() => run(`TZ=${text} * * * * *`)),
  ],
  requirementErrors: (run, text) => run({ key: text, operator: "in", values: [text] }),
  compileSelector: (run, text) => run({ matchLabels: { [text]: text } }),
  validateLabels: (run, text) => run({ [text]: text }, "labels"),
  duplicateFields: (run, text) => run(JSON.stringify({ [text]: [text, { [text]: text }] })),
};

/** Units that one expression or another could read in two ways, with what may come before and behind them. */
const units = [
  "a",
  "0",
  "9e",
  "a.",
  "a-",
  "a/",
  "0.",
  "1,",
  "-",
  ".",
  "/",
  ":",
  "_",
  " ",
  "\t ",
  "a=b,",
  "\\",
  "\0",
].concat(["*a", "(", "[", '{"a":', '"', "%", "@", "!", "é", "1h", "x(", "1 "]);
const frames: readonly [string, string][] = [
  ["", ""],
  ["1", "!"],
  ["a", ":\n"],
];
const texts = units.flatMap((unit) =>
  frames.map(
    ([head, tail]) =>
      (length: number) =>
        head + unit.repeat(length / unit.length) + tail,
  ),
);
const short = 1024;
const middle = 16 * short;
const long = 64 * short;

interface Subject {
  readonly name: string;
  readonly call: (text: string) => unknown;
}

const declared = /^export (?:async )?function (\w+)(?:<[^(]*>)?\(\s*\w+\??: ([^,)=]*)/gm;

async function subjects(): Promise<{ driven: Subject[]; unusedExemptions: string[] }> {
  const driven: Subject[] = [];
  const unused = new Set(Object.keys(exempt));
  for (const file of folders.flatMap(sources)) {
    const found = [...readFileSync(join(root, file), "utf8").matchAll(declared)]
      .filter(
        ([, name = "", type = ""]) =>
          Object.hasOwn(drives, name) || /^[^{]*\b(string|IntOrString)\b(?!\[)/.test(type),
      )
      .map(([, name = ""]) => name);
    const names = found.filter((name) => {
      const reasons = [file, `${file} ${name}`].filter((each) => Object.hasOwn(exempt, each));
      for (const reason of reasons) unused.delete(reason);
      return reasons.length === 0;
    });
    if (names.length === 0) continue;
    const module: Record<string, unknown> = await import(join(root, file));
    for (const name of names) {
      const run = module[name];
      if (typeof run !== "function") throw new Error(`${file} does not export ${name}`);
      const drive = Object.hasOwn(drives, name) ? drives[name] : undefined;
      const apply = (...given: readonly unknown[]): unknown => Reflect.apply(run, undefined, given);
      driven.push({
        name: `${file} ${name}`,
        call: (text) => (drive ? drive(apply, text) : apply(text, text)),
      });
    }
  }
  return { driven, unusedExemptions: [...unused] };
}

function sources(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((name) => name.endsWith(".ts") && !notProduct.test(name))
    .sort();
}

function attempt(run: () => unknown): void {
  try {
    run();
  } catch {
    // To refuse a text is an answer, too.
  }
}

/** Milliseconds of processor time that as many calls take as make 64 kB of such texts. */
function cost(subject: Subject, text: string): number {
  const calls = Math.round(long / Math.max(text.length, short));
  const before = process.threadCpuUsage();
  for (let call = 0; call < calls; call++) attempt(() => subject.call(text));
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}

/** What takes less for 64 kB grows as it may: the square of that length takes seconds. This only saves time. */
const cheapMs = 100;
/** What the clock can tell. */
const resolutionMs = 5;

/** In proportion the cost of the same amount of text is the same; with its square 64 and 4 times as much. */
function growsTooFast(subject: Subject, text: (length: number) => string): boolean {
  if (cost(subject, text(long)) < cheapMs) return false;
  const least = {
    short: Number.POSITIVE_INFINITY,
    middle: Number.POSITIVE_INFINITY,
    long: Number.POSITIVE_INFINITY,
  };
  // In turns: code gets faster the longer it runs.
  for (let round = 0; round < 3; round++) {
    least.short = Math.min(least.short, Math.max(resolutionMs, cost(subject, text(short))));
    least.middle = Math.min(least.middle, Math.max(resolutionMs, cost(subject, text(middle))));
    least.long = Math.min(least.long, cost(subject, text(long)));
  }
  return least.long > 16 * least.short && least.long > 2.5 * least.middle;
}

const { driven, unusedExemptions } = await subjects();

t.test("the exemptions are about functions that exist", (t) => {
  t.same(unusedExemptions, []);
  t.ok(driven.length > 60, `${driven.length} functions are driven`);
  for (const name of Object.keys(drives))
    t.ok(
      driven.some((one) => one.name.endsWith(` ${name}`)),
      name,
    );
  t.end();
});

t.test("costs grow at most in proportion to the text", (t) => {
  for (const subject of driven) {
    const hostile = texts.find((text) => growsTooFast(subject, text));
    t.equal(hostile?.(16), undefined, subject.name);
  }
  t.end();
});
