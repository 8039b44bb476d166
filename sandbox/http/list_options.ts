/** Query parameters of lists and watches, checked as the server checks them. */
import {
  type FieldError,
  type FieldSelector,
  forbidden,
  notSupported,
  ParseError,
  parseFieldSelector,
  parseSelector,
  type Selector,
} from "../../kube/core/index.ts";
import type { StoredObject } from "../cluster.ts";
import type { Served } from "../resources/resource.ts";
import { badRequest, invalid } from "./api_error.ts";

export interface ListOptions {
  readonly labels: Selector;
  readonly fields: FieldSelector;
  readonly limit: number;
  readonly continueToken: string;
  /** Undefined where the client gave none. */
  readonly resourceVersion: number | undefined;
  readonly resourceVersionMatch: string;
  readonly watch: boolean;
  readonly sendInitialEvents: boolean;
  readonly allowWatchBookmarks: boolean;
  readonly timeoutSeconds: number | undefined;
}

export function isTrue(value: string | null): boolean {
  return value === "true" || value === "1" || value === "";
}

export function parseListOptions(query: URLSearchParams, served: Served): ListOptions {
  const watch = isTrue(query.get("watch"));
  const resourceVersion = parseVersion(query.get("resourceVersion"));
  const match = query.get("resourceVersionMatch") ?? "";
  const initial = query.get("sendInitialEvents");
  const continueToken = query.get("continue") ?? "";
  const errors = matchErrors(watch, match, query.get("resourceVersion") ?? "", initial, continueToken);
  if (errors.length > 0) throw invalid({ group: "meta.k8s.io", kind: "ListOptions" }, "", errors);
  const timeout = query.get("timeoutSeconds");
  return {
    labels: parsed(() => parseSelector(query.get("labelSelector") ?? "")),
    fields: checkedFields(query.get("fieldSelector") ?? "", served),
    limit: Number(query.get("limit") ?? "0") || 0,
    continueToken,
    resourceVersion,
    resourceVersionMatch: match,
    watch,
    sendInitialEvents: isTrue(initial),
    allowWatchBookmarks: isTrue(query.get("allowWatchBookmarks")),
    timeoutSeconds: timeout === null ? undefined : Number(timeout) || undefined,
  };
}

function parseVersion(text: string | null): number | undefined {
  if (text === null || text === "") return undefined;
  if (!/^\d+$/.test(text)) {
    throw badRequest(
      `invalid resource version: resourceVersion: Invalid value: ${JSON.stringify(text)}: strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`,
    );
  }
  return Number(text);
}

function parsed<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (error instanceof ParseError) throw badRequest(error.message);
    throw error;
  }
}

function checkedFields(text: string, served: Served): FieldSelector {
  const selector = parsed(() => parseFieldSelector(text));
  for (const { field } of selector.requirements) {
    if (field === "metadata.name" || field === "metadata.namespace" || served.selectable.has(field)) continue;
    throw badRequest(
      served.resource.custom || served.selectable.size > 0
        ? `field label not supported: ${field}`
        : `"${field}" is not a known field selector: only "metadata.name", "metadata.namespace"`,
    );
  }
  return selector;
}

function matchErrors(
  watch: boolean,
  match: string,
  version: string,
  initial: string | null,
  continueToken: string,
): FieldError[] {
  const path = "resourceVersionMatch";
  if (watch) {
    if (initial !== null && match !== "NotOlderThan") {
      return [forbidden(path, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan")];
    }
    if (match !== "" && initial === null) {
      const detail = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
      return [forbidden(path, detail)];
    }
    return [];
  }
  if (initial !== null) return [forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list")];
  if (match === "") return [];
  const errors: FieldError[] = [];
  if (version === "") {
    errors.push(forbidden(path, "resourceVersionMatch is forbidden unless resourceVersion is provided"));
  }
  if (continueToken !== "") {
    errors.push(forbidden(path, "resourceVersionMatch is forbidden when continue is provided"));
  }
  if (match !== "Exact" && match !== "NotOlderThan") {
    errors.push(notSupported(path, match, ["Exact", "NotOlderThan", ""]));
  }
  if (match === "Exact" && version === "0") {
    errors.push(forbidden(path, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'));
  }
  return errors;
}

/** Whether an object is asked for. Field values are read from the stored form. */
export function matcher(options: ListOptions, served: Served): (object: StoredObject) => boolean {
  const { labels, fields } = options;
  const anyField = fields.requirements.length === 0;
  if (labels.empty && anyField) return () => true;
  return (object) =>
    labels.matches(object.metadata.labels) &&
    (anyField || fields.matches((field) => fieldValue(object, field, served)));
}

function fieldValue(object: StoredObject, field: string, served: Served): string {
  if (field === "metadata.name") return object.metadata.name ?? "";
  if (field === "metadata.namespace") return object.metadata.namespace ?? "";
  return served.selectable.get(field)?.(object) ?? "";
}

/** An index that narrows a list or watch, from `field=value` requirements. */
export function usableIndex(
  options: ListOptions,
  served: Served,
): { readonly name: string; readonly value: string } | undefined {
  const { indexes } = served.resource.table.options;
  for (const { field, operator, value } of options.fields.requirements) {
    if (operator === "=" && Object.hasOwn(indexes, field)) return { name: field, value };
  }
  return undefined;
}
