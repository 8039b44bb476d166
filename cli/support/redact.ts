/** What of an object may leave the cluster in a report. Pure. */
import { hideSecrets, isSecretName } from "../../kube/index.ts";
import { isFields } from "../fields.ts";

const hidden = "[hidden]";
/** Annotations of these domains are about the system; those of others may hold anything. */
const knownDomains = /(^|\.)(kruise\.io|kubernetes\.io|k8s\.io|refit\.dev)$/;
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";
/** The settings of the system itself. */
const ownConfiguration = "kruise-configuration";
const dataFields = ["data", "stringData", "binaryData"];
/** No object of the API is deeper. */
const deepest = 200;

/**
 * A copy without values of environment variables, contents of Secrets and ConfigMaps (also where an object carries one),
 * annotations of others, and what is named like a secret.
 */
export function redacted(value: unknown): unknown {
  return redactedAt("", value, 0);
}

function redactedAt(name: string, value: unknown, depth: number): unknown {
  if (depth > deepest) return hidden;
  if (typeof value === "string") return isSecretName(name) ? hidden : redactedText(value);
  if (Array.isArray(value)) return redactedList(name, value, depth);
  if (!isFields(value)) return value;
  const fields = name === "annotations" ? ownAnnotations(value) : withoutContents(value);
  return Object.fromEntries(
    Object.entries(fields)
      .filter(([key]) => key !== "managedFields" && key !== lastApplied)
      .map(([key, item]) => [key, redactedAt(key, item, depth + 1)]),
  );
}

function redactedList(name: string, list: readonly unknown[], depth: number): unknown[] {
  if (name === "env") return list.map((item) => redactedAt("", withHidden(item, "value"), depth + 1));
  if (name === "args" || name === "command") return redactedArguments(list);
  return list.map((item) => redactedAt(name, withHiddenHeader(item), depth + 1));
}

function withHidden(item: unknown, field: string): unknown {
  return isFields(item) && Object.hasOwn(item, field) ? { ...item, [field]: hidden } : item;
}

/** Headers of probes and hooks: a name beside its value. */
function withHiddenHeader(item: unknown): unknown {
  if (!isFields(item)) return item;
  const { name } = item;
  return typeof name === "string" && isSecretName(name) ? withHidden(item, "value") : item;
}

/** `--password=x`, and `--password` followed by `x`. */
function redactedArguments(list: readonly unknown[]): unknown[] {
  return list.map((item, index) => {
    if (typeof item !== "string") return redacted(item);
    const before = list[index - 1];
    if (typeof before === "string" && isSecretFlag(before) && !item.startsWith("-")) return hidden;
    const sign = item.indexOf("=");
    if (sign > 0 && isSecretFlag(item.slice(0, sign))) return `${item.slice(0, sign)}=${hidden}`;
    return redactedText(item);
  });
}

function isSecretFlag(text: string): boolean {
  return text.startsWith("-") && text.length < 100 && isSecretName(text);
}

function ownAnnotations(annotations: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(annotations).map(([key, value]) => {
      const domain = key.includes("/") ? key.slice(0, key.indexOf("/")) : "";
      return [key, knownDomains.test(domain) ? value : hidden];
    }),
  );
}

function withoutContents(object: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { kind, metadata } = object;
  const isOwn = isFields(metadata) && metadata["name"] === ownConfiguration;
  if (kind !== "Secret" && (kind !== "ConfigMap" || isOwn)) return object;
  return Object.fromEntries(
    Object.entries(object).map(([field, value]) => [field, dataFields.includes(field) ? hidden : value]),
  );
}

/** A text without credentials of HTTP, also in addresses. */
export function redactedText(text: string): string {
  return hideSecrets(text).replace(/:\/\/[^/@\s:]{0,100}:[^/@\s]{1,200}@/g, `://${hidden}@`);
}
