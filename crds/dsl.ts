/**
 * The words in which kinds are written down. Each takes the description first and returns a TypeBox schema, so one text
 * gives the static type (`Static<typeof …>`), the OpenAPI schema of the definition and the field docs. Fields are
 * required unless wrapped in `optional`, or named so. Structural schemas of Kubernetes know neither `$ref` nor unions; nothing here
 * produces them.
 */
// By name: the default export would bring the whole library into every bundle.
import {
  Array as ArrayType,
  Boolean as BooleanType,
  Integer as IntegerType,
  Object as ObjectType,
  Optional,
  type Static,
  String as StringType,
  type TProperties,
  type TSchema,
  Unsafe,
} from "typebox";
import type { IntOrString, KubeObject, LabelSelector, ObjectMeta } from "../kube/core/index.ts";
import type { Container, PodTemplate } from "./pod_template.ts";

export type { Static, TProperties, TSchema } from "typebox";

export interface TextRules {
  default?: string;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
}

export interface IntegerRules {
  default?: number;
  minimum?: number;
}

export interface ListRules {
  /** Keys that make an entry unique: a map list, merged by key on server-side apply. */
  keys?: readonly string[];
  /** Replaced as a whole on server-side apply. */
  atomic?: boolean;
}

export interface ObjectRules {
  atomic?: boolean;
  preserveUnknown?: boolean;
}

export const optional = Optional;

export function text(description: string, rules: TextRules = {}) {
  return StringType({ ...rules, description });
}

/** A string of which the API server itself accepts only the given values. */
export function choice<const V extends readonly string[]>(
  description: string,
  values: V,
  rules: TextRules = {},
) {
  return Unsafe<V[number]>({ ...StringType({ ...rules, description }), enum: [...values] });
}

/** RFC 3339. */
export function dateTime(description: string) {
  return StringType({ format: "date-time", description });
}

export function int32(description: string, rules: IntegerRules = {}) {
  return IntegerType({ ...rules, format: "int32", description });
}

export function int64(description: string, rules: IntegerRules = {}) {
  return IntegerType({ ...rules, format: "int64", description });
}

export function flag(description: string, rules: { default?: boolean } = {}) {
  return BooleanType({ ...rules, description });
}

/** A number, or text: mostly a percentage such as `20%`. */
export function intOrString(description: string) {
  return Unsafe<IntOrString>({
    anyOf: [{ type: "integer" }, { type: "string" }],
    "x-kubernetes-int-or-string": true,
    description,
  });
}

export function list<T extends TSchema>(description: string, items: T, rules: ListRules = {}) {
  const topology = rules.keys
    ? { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [...rules.keys] }
    : rules.atomic
      ? { "x-kubernetes-list-type": "atomic" }
      : {};
  return ArrayType(items, { ...topology, description });
}

export function map<T extends TSchema>(description: string, values: T) {
  return Unsafe<Record<string, Static<T>>>({
    type: "object",
    additionalProperties: values,
    description,
  });
}

export function strings(description: string, rules: ListRules = {}) {
  return list(description, StringType(), rules);
}

export function stringMap(description: string) {
  return map(description, StringType());
}

export function object<P extends TProperties>(description: string, properties: P, rules: ObjectRules = {}) {
  return ObjectType(properties, {
    ...(rules.atomic ? { "x-kubernetes-map-type": "atomic" } : {}),
    ...(rules.preserveUnknown ? { "x-kubernetes-preserve-unknown-fields": true } : {}),
    description,
  });
}

export function objectList<P extends TProperties>(
  description: string,
  itemDescription: string,
  properties: P,
  rules: ListRules = {},
) {
  return list(description, object(itemDescription, properties), rules);
}

/** An object that may be absent. */
export function optionalObject<P extends TProperties>(
  description: string,
  properties: P,
  rules: ObjectRules = {},
) {
  return optional(object(description, properties, rules));
}

/** A list of objects that may be absent. */
export function optionalObjectList<P extends TProperties>(
  description: string,
  itemDescription: string,
  properties: P,
  rules: ListRules = {},
) {
  return optional(objectList(description, itemDescription, properties, rules));
}

/** `spec` of a kind. */
export function specOf<P extends TProperties>(properties: P) {
  return object("What is wanted: written by users, carried out by the controller.", properties);
}

/** `status` of a kind. */
export function statusOf<P extends TProperties>(properties: P) {
  return object("What is observed: written by the controller, read by users.", properties);
}

/** A value of which the schema says nothing; `T` is what admission makes sure of. */
export function preserve<T = unknown>(description: string) {
  return Unsafe<T>({ "x-kubernetes-preserve-unknown-fields": true, description });
}

/** A complete object of another kind. */
export function embeddedResource(description: string) {
  return Unsafe<KubeObject>({
    type: "object",
    "x-kubernetes-embedded-resource": true,
    "x-kubernetes-preserve-unknown-fields": true,
    description,
  });
}

/** `metadata` of an object that is made from another: of labels and annotations at most, which servers must not drop. */
export function objectMetadata(description: string) {
  return Unsafe<ObjectMeta>({ type: "object", "x-kubernetes-preserve-unknown-fields": true, description });
}

export function podTemplate(description: string) {
  return preserve<PodTemplate>(description);
}

/** A container of the pod API, of which the schema says nothing, with further fields beside its own. */
export function container<P extends TProperties>(description: string, properties: P) {
  const fields = object(description, properties, { preserveUnknown: true });
  return Unsafe<Container & Static<typeof fields>>({ ...fields });
}

const requirement = object("One condition on a label.", {
  key: text("Label key."),
  operator: text("In, NotIn, Exists or DoesNotExist."),
  values: optional(
    strings("Values: at least one for In and NotIn, none for Exists and DoesNotExist.", { atomic: true }),
  ),
});

/** The fields of a label selector, for kinds that add fields of their own beside them. */
const selectorFields = {
  matchExpressions: optional(list("Conditions on labels that all must hold.", requirement, { atomic: true })),
  matchLabels: optional(stringMap("Labels that all must be present with these values.")),
};

export function labelSelector(description: string) {
  return Unsafe<LabelSelector>({ ...object(description, selectorFields, { atomic: true }) });
}

/** Nodes by name or by label. */
export function nodeNamesOrLabels(description: string) {
  const fields = { ...selectorFields, names: optional(strings("Names of nodes, each once.")) };
  return Unsafe<LabelSelector & { names?: string[] }>({ ...object(description, fields, { atomic: true }) });
}

const observations = "What is observed of the object's state, one entry a type.";

/**
 * Conditions, which may be absent, with the fields that the kinds of this API write; `extra` adds to them. `types`: what is
 * said of their names.
 */
export function conditions<P extends TProperties>(types: string, extra: P) {
  const fields = {
    type: text(types),
    status: text("True, False or Unknown."),
    reason: optional(text("Cause of the last change in one word, for programs.")),
    message: optional(text("Cause of the last change in a sentence, for people.")),
    lastTransitionTime: optional(dateTime("When the status of the condition changed last.")),
    ...extra,
  };
  return optionalObjectList(observations, "One condition.", fields);
}

const conditionType =
  "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$";

/** The same with the rules of the standard metav1 type, checked by the API server. */
export function strictConditions(types: string) {
  const fields = {
    type: text(types, { maxLength: 316, pattern: conditionType }),
    status: choice("Whether the condition holds: True, False or Unknown.", ["True", "False", "Unknown"]),
    observedGeneration: optional(
      int64("Value of metadata.generation that the condition is about.", { minimum: 0 }),
    ),
    lastTransitionTime: dateTime("When the status of the condition changed last."),
    reason: text("Cause of the last change in one word, for programs.", {
      minLength: 1,
      maxLength: 1024,
      pattern: "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
    }),
    message: text("Cause of the last change in a sentence, for people.", { maxLength: 32768 }),
  };
  return optionalObjectList(observations, "One condition.", fields, { keys: ["type"] });
}
