import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Environment } from "@marcbachmann/cel-js";
import t, { type Test } from "tap";
import { parse } from "yaml";
import { kinds, unknownFields } from "../../crds/index.ts";
import { cloneJson, createMergePatch, isJsonObject, type JsonObject } from "../../kube/core/index.ts";
import { restored, runLua } from "./argo_cd_fixture.ts";
import { argocdCmText, type Customization, customizations, madeText } from "./argocd_cm.ts";
import { ignoredDifferences } from "./ignore_differences.ts";

const folder = import.meta.dirname;
const read = (name: string) => parse(readFileSync(join(folder, name), "utf8"), { merge: true });

const all = customizations();
const nameOf = ({ group, kind }: { group: string; kind: string }): string => `${group}_${kind}`;
const kindNamed = new Map(kinds.map((kind) => [nameOf(kind), kind]));

interface Case {
  readonly case: string;
  readonly status: "Healthy" | "Progressing" | "Degraded" | "Suspended";
  /** A part of what is said. */
  readonly message: string;
  /** What Flux makes of it, where that does not follow from the status; error: an expression names what is not there. */
  readonly flux?: FluxState;
  readonly object: JsonObject;
}

type FluxState = "Current" | "InProgress" | "Failed" | "error";

const casesOf = (name: string): readonly Case[] => read(`testdata/health/${name}.yaml`);

t.test("argocd-cm.yaml is made of the scripts", async (t) => {
  t.equal(argocdCmText(), madeText(), "node bundles/gitops/argocd_cm.ts writes it");
});

t.test("argocd-cm.yaml reads as Argo CD reads it", async (t) => {
  const { data } = parse(argocdCmText());
  const keys = new Set(Object.keys(data));
  for (const { name, health, actions } of all) {
    const key = (what: string): string => `resource.customizations.${what}.${name}`;
    t.equal(data[key("health")], health, name);
    keys.delete(key("health"));
    if (actions !== undefined) {
      const definitions = [...actions.scripts].map(([name, script]) => ({ name, "action.lua": script }));
      t.same(parse(data[key("actions")]), { "discovery.lua": actions.discovery, definitions }, name);
      keys.delete(key("actions"));
    }
    if (ignoredDifferences[name] !== undefined) {
      t.same(parse(data[key("ignoreDifferences")]), { jqPathExpressions: ignoredDifferences[name] }, name);
      keys.delete(key("ignoreDifferences"));
    }
  }
  t.strictSame([...keys], [], "and holds nothing else");
});

t.test("each kind of the API has a health check and stored objects for it", async (t) => {
  const names = [...kindNamed.keys()].sort();
  t.strictSame(
    all.map(({ name }) => name),
    names,
    "bundles/gitops/resource.customizations/GROUP_KIND/health.lua is there for each kind",
  );
  for (const name of names) {
    const file = `testdata/health/${name}.yaml`;
    t.ok(existsSync(join(folder, file)), `bundles/gitops/${file} is there`);
  }
  for (const name of Object.keys(ignoredDifferences)) t.ok(kindNamed.has(name), name);
});

t.test("stored objects are objects of their kind", async (t) => {
  for (const [name, kind] of kindNamed)
    for (const { case: title, object } of casesOf(name)) {
      t.strictSame(unknownFields(kind, object), [], `${name}: ${title}`);
      t.equal(`${kind.group}_${object["kind"]}`, name);
    }
});

t.test("scripts have no more of Lua than Argo CD offers", async (t) => {
  const script = `return {
    version = _VERSION,
    missing = string == nil and math == nil and io == nil and os == nil and debug == nil and coroutine == nil,
    time = require("os").time() > 0,
    methods = pcall(function() return ("text"):upper() end),
  }`;
  t.same(runLua(script, {}), { version: "Lua 5.1", missing: true, time: true, methods: false });
  t.same(runLua("return obj", { a: 'ä"\\\n', b: [1, { c: true }] }), { a: 'ä"\\\n', b: [1, { c: true }] });
  t.throws(() => runLua("return obj.status.phase", {}), /attempt to index field 'status'/);
});

for (const { name, health } of all)
  t.test(`health of ${name}`, async (t) => {
    const cases = casesOf(name);
    for (const { case: title, status, message, object } of cases) {
      const found = runLua(health, object);
      t.match(found, { status }, title);
      t.ok(isJsonObject(found) && String(found["message"]).includes(message), `${title}: ${said(found)}`);
    }
    t.ok(
      cases.some(({ object }) => object["status"] === undefined),
      "one has no status",
    );
  });

const said = (found: unknown): string => JSON.stringify(found);

t.test("no health check fails on an object of which a part is missing", async (t) => {
  for (const { name, health } of all) {
    const failed = casesOf(name).flatMap(({ case: title, object }) =>
      ["spec", "status"].flatMap((part) =>
        withoutOne(object[part])
          .filter(([, left]) => !isAnswer(health, { ...object, [part]: left }))
          .map(([removed]) => `${title}, without ${part}.${removed}`),
      ),
    );
    t.strictSame(failed, [], name);
  }
});

function isAnswer(health: string, object: JsonObject): boolean {
  try {
    const { status, message } = Object(runLua(health, object));
    return /^(Healthy|Progressing|Degraded|Suspended)$/.test(status) && message !== "";
  } catch {
    return false;
  }
}

/** The members that are left when one is removed, for each. */
function withoutOne(value: unknown): [string, JsonObject][] {
  if (!isJsonObject(value)) return [];
  return Object.keys(value).map((removed) => {
    const { [removed]: _, ...left } = value;
    return [removed, left];
  });
}

interface ActionCase {
  readonly case: string;
  readonly object: JsonObject;
  /** Names of the actions that are enabled. */
  readonly enabled: readonly string[];
  /** What each changes, as a merge patch; NOW stands for the time. */
  readonly changes?: Readonly<Record<string, JsonObject>>;
}

t.test("actions", async (t) => {
  for (const customization of all.filter(({ actions }) => actions !== undefined)) {
    const cases: readonly ActionCase[] = read(`testdata/actions/${customization.name}.yaml`);
    for (const each of cases)
      await t.test(`${customization.name}: ${each.case}`, async (t) => checkActions(t, customization, each));
    const shown = new Set(cases.flatMap(({ changes }) => Object.keys(changes ?? {})));
    t.strictSame(
      [...shown].sort(),
      [...(customization.actions?.scripts.keys() ?? [])].sort(),
      "each is shown",
    );
  }
});

async function checkActions(
  t: Test,
  { name, actions }: Customization,
  { object, enabled, changes = {} }: ActionCase,
): Promise<void> {
  const kind = kindNamed.get(name);
  t.strictSame(kind && unknownFields(kind, object), [], "it is an object of its kind");
  const found = Object(runLua(actions?.discovery ?? "", object));
  t.strictSame(
    Object.keys(found).sort(),
    [...(actions?.scripts.keys() ?? [])].sort(),
    "scripts of all actions",
  );
  const offered = Object.keys(found).filter((action) => found[action].disabled === false);
  t.strictSame(offered.sort(), [...enabled].sort());
  for (const [action, change] of Object.entries(changes)) {
    const before = cloneJson(object);
    const after = restored(runLua(actions?.scripts.get(action) ?? "", object), before);
    const patch = createMergePatch(before, isJsonObject(after) ? after : {});
    const now = JSON.stringify(patch).match(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/)?.[0];
    const shown = now === undefined ? patch : JSON.parse(JSON.stringify(patch).replaceAll(now, "NOW"));
    t.strictSame(shown, change, action);
    if (now !== undefined) t.ok(Math.abs(Date.parse(now) - Date.now()) < 60_000, `${now} is now`);
  }
}

const fluxStates = { Healthy: "Current", Progressing: "InProgress", Degraded: "Failed" } as const;

t.test("Flux: expressions and stored objects", async (t) => {
  const environment = new Environment({ unlistedVariablesAreDyn: true, enableOptionalTypes: true });
  // Of the extensions that Flux has.
  environment.registerFunction("string.replace(string, string): string", (text, from, to) =>
    text.replaceAll(from, to),
  );
  const { spec } = read("flux-kustomization.yaml");
  for (const { kind, apiVersion, failed, current } of spec.healthCheckExprs) {
    const definition = kinds.find((each) => each.kind === kind);
    t.ok(
      definition?.versions.some(({ name }) => `${definition.group}/${name}` === apiVersion),
      kind,
    );
    const state = ({ metadata, ...object }: JsonObject): FluxState => {
      const status = Object(object["status"]);
      const { generation } = Object(metadata);
      if (status.observedGeneration !== undefined && status.observedGeneration !== generation)
        return "InProgress";
      try {
        const variables = withIntegers({ metadata, ...object });
        if (failed !== undefined && environment.evaluate(failed, variables) === true) return "Failed";
        return environment.evaluate(current, variables) === true ? "Current" : "InProgress";
      } catch {
        return "error";
      }
    };
    for (const { case: title, status, flux, object } of casesOf(`${definition?.group}_${kind}`)) {
      const wanted =
        flux ??
        (object["status"] === undefined ? "error" : status === "Suspended" ? undefined : fluxStates[status]);
      t.equal(state(object), wanted, `${kind}: ${title}`);
    }
  }
});

/** CEL tells integers from other numbers, JavaScript does not. */
function withIntegers(value: unknown): JsonObject {
  return JSON.parse(JSON.stringify(value), (_, item) => (Number.isInteger(item) ? BigInt(item) : item));
}
