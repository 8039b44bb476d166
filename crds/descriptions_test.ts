/** What `kubectl explain` shows: every field of every version in plain sentences, with its form and its default. */
import t from "tap";
import { isJsonObject, type JsonObject, own } from "../kube/core/index.ts";
import * as crds from "./index.ts";
import {
  defaultAdvancedCronJob,
  defaultBroadcastJob,
  defaultCloneSet,
  defaultDaemonSet,
  defaultImageListPullJob,
  defaultImagePullJob,
  defaultNodeImage,
  defaultSidecarSet,
  defaultStatefulSet,
  defaultUnitedDeployment,
  definitionName,
  type JsonSchema,
  kinds,
  versionSchema,
} from "./index.ts";

const options = { templateDefaults: false, hostNetworkPorts: false };
const claims = { ...options, deletesClaims: true, resizesClaims: true };

/** What admission writes where nothing was given, by kind. */
const defaulting: Readonly<Record<string, (object: JsonObject) => JsonObject>> = {
  AdvancedCronJob: (object) => defaultAdvancedCronJob(object, options),
  BroadcastJob: (object) => defaultBroadcastJob(object, options),
  CloneSet: (object) => defaultCloneSet(object, options),
  DaemonSet: defaultDaemonSet,
  ImageListPullJob: defaultImageListPullJob,
  ImagePullJob: (object) => defaultImagePullJob(object, false),
  NodeImage: (object) => defaultNodeImage(object, 0),
  SidecarSet: defaultSidecarSet,
  StatefulSet: (object) => defaultStatefulSet(object, claims),
  UnitedDeployment: (object) => defaultUnitedDeployment(object, options),
};

/** `spec.subsets[].name` */
interface Field {
  readonly path: string;
  readonly schema: JsonSchema;
}

/** Every field below a schema, and what its lists and maps hold. */
function fieldsOf(schema: JsonSchema, path: string): Field[] {
  const { properties, items, additionalProperties } = schema;
  const named = Object.entries(isJsonObject(properties) ? properties : {}).map(
    ([name, field]): [string, unknown] => [path === "" ? name : `${path}.${name}`, field],
  );
  const below: [string, unknown][] = [...named, [`${path}[]`, items], [`${path}{}`, additionalProperties]];
  return below.flatMap(([at, field]) =>
    isJsonObject(field) ? [{ path: at, schema: field }, ...fieldsOf(field, at)] : [],
  );
}

const textOf = ({ schema }: Field): string => String(schema["description"] ?? "");

/** Who an object is the API server says; plain words in a list or map are what the list says. */
function needsText({ path, schema }: Field): boolean {
  if (path === "metadata" || path === "apiVersion" || path === "kind") return false;
  return !/[\]}]$/.test(path) || schema["type"] !== "string" || "description" in schema;
}

/** Numbers that are no share of anything: ports by number or name, ordinals by number or range. */
const noShare = /\.port$|\.reserveOrdinals\[\]$/;

function lacksForm(field: Field): boolean {
  if (field.schema["x-kubernetes-int-or-string"] !== true || noShare.test(field.path)) return false;
  return !/percentage|^Without effect/.test(textOf(field));
}

function unnamedWords(field: Field): string[] {
  const words: unknown = field.schema["enum"];
  return (Array.isArray(words) ? words : []).filter((word) => !textOf(field).includes(word));
}

/** Written as fields are, and none of the kind: a field of pods, a value, a protocol. */
const otherNames: readonly string[] = ["restartPolicy", "versionIgnored", "gRPC"];

/** Names of fields in the text that the version does not have, `maxSurge`. */
function strangeNames(field: Field, names: ReadonlySet<string>): string[] {
  const written = textOf(field).match(/\b[a-z]+[A-Z]\w*/g) ?? [];
  return written.filter((name) => !names.has(name) && !otherNames.includes(name));
}

/** Whether the text gives the value as the default. An empty text is given in words. */
function namesDefault(text: string, value: unknown): boolean {
  return /default/i.test(text) && text.includes(value === "" ? "empty" : String(value));
}

/** An object with every object and list of the schema, and nothing in them. */
function hollow(schema: JsonSchema): unknown {
  const { type, properties, items, additionalProperties } = schema;
  if (type === "array")
    return isJsonObject(items) && items["type"] === "object" ? [hollow(items)] : undefined;
  if (type !== "object") return undefined;
  if (isJsonObject(additionalProperties)) return { any: hollow(additionalProperties) };
  const members = Object.entries(isJsonObject(properties) ? properties : {});
  return Object.fromEntries(
    members.map(([name, field]) => [name, isJsonObject(field) ? hollow(field) : undefined]),
  );
}

/** The values of an object at a path of `fieldsOf`. */
function valuesAt(value: unknown, path: string): unknown[] {
  const steps = path.match(/[^.[\]{}]+|\[\]|\{\}/g) ?? [];
  return steps.reduce<unknown[]>((values, step) => values.flatMap((one) => membersOf(one, step)), [value]);
}

function membersOf(value: unknown, step: string): unknown[] {
  if (step === "[]") return Array.isArray(value) ? value : [];
  if (!isJsonObject(value)) return [];
  return step === "{}" ? Object.values(value) : [own(value, step)];
}

function wrongDefaults(fields: readonly Field[], filled: JsonObject): string[] {
  return fields.flatMap((field) => {
    const given = [own(field.schema, "default"), ...valuesAt(filled, field.path)];
    const values = given.filter((value) => value !== undefined && typeof value !== "object");
    // The moment of the request has no name but that.
    if (field.schema["format"] === "date-time") return [];
    return values
      .filter((value) => !namesDefault(textOf(field), value))
      .map((value) => `${field.path} defaults to ${JSON.stringify(value)}: ${textOf(field)}`);
  });
}

/** What is wrong with a text by itself. `names`: fields of the version. */
function faultsOf(field: Field, names: ReadonlySet<string>): string[] {
  const faults: string[] = [];
  if (!/^[A-Z0-9].*\.$/s.test(textOf(field))) faults.push("no whole sentences");
  if (lacksForm(field)) faults.push("nothing about percentages");
  for (const word of unnamedWords(field)) faults.push(`nothing about the value ${word}`);
  for (const name of strangeNames(field, names)) faults.push(`the version has no ${name}`);
  return faults.map((fault) => `${field.path}: ${fault}: ${textOf(field)}`);
}

for (const kind of kinds) {
  for (const version of kind.versions) {
    t.test(`${definitionName(kind)} ${version.name}`, async (t) => {
      const schema = versionSchema(kind, version);
      const fields = fieldsOf(schema, "").filter(needsText);
      const names = new Set(fields.flatMap(({ path }) => path.split(/[.[\]{}]+/)));
      t.same(
        fields.flatMap((field) => faultsOf(field, names)),
        [],
        "texts are whole",
      );
      const apiVersion = `${kind.group}/${version.name}`;
      const filled =
        defaulting[kind.kind]?.({ ...Object(hollow(schema)), apiVersion, kind: kind.kind }) ?? {};
      t.same(wrongDefaults(fields, filled), [], "what is filled in is named as the default");
    });
  }
}

t.test("every kind that admission fills in is looked at", async (t) => {
  const functions = Object.entries(crds).filter(
    ([name, value]) => name.startsWith("default") && typeof value === "function",
  );
  t.same(functions.map(([name]) => name.slice("default".length)).sort(), Object.keys(defaulting));
});
