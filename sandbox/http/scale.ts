/** The scale subresource: autoscaling/v1 Scale over fields of the object. */
import {
  type Clock,
  cloneJson,
  invalid as fieldInvalid,
  formatSelector,
  isJsonObject,
  type LabelSelector,
  type LabelSelectorRequirement,
} from "../../kube/core/index.ts";
import type { StoredObject } from "../cluster.ts";
import { type Fields, fieldsAt, isFields, numberAt, objectsAt, setAt, valueAt } from "../json.ts";
import { plainPrinter } from "../resources/printer.ts";
import type { ScalePaths, Served } from "../resources/resource.ts";
import { Revision } from "../revision.ts";
import type { World } from "../world.ts";
import { type UpdateParts, updateObject } from "../writes/update.ts";
import { convertObject, inVersion, workingVersion } from "../writes/working.ts";
import { badRequest, conflict, invalid, modifiedMeanwhile, notFound } from "./api_error.ts";
import { expectedCore, parseBody, typedObject } from "./body.ts";
import type { Exchange, Reply } from "./exchange.ts";
import { mergedPatch } from "./patch.ts";
import { mediaFor, tableOptions } from "./read.ts";
import { objectReply } from "./represent.ts";
import type { Target } from "./target.ts";
import { writeRequest } from "./write.ts";

const builtinPaths: ScalePaths = {
  replicas: ["spec", "replicas"],
  statusReplicas: ["status", "replicas"],
  selector: ["spec", "selector"],
};

const expected = expectedCore("autoscaling/v1", "Scale");

function pathsOf(served: Served): ScalePaths {
  return served.scale ?? builtinPaths;
}

export function scaleOf(object: StoredObject, served: Served): StoredObject {
  const paths = pathsOf(served);
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const replicas = numberAt(object, ...paths.replicas);
  const selector = selectorText(
    paths.selector === undefined ? undefined : valueAt(object, ...paths.selector),
  );
  return {
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    // A copy has no members that are undefined.
    metadata: cloneJson({ name, namespace, uid, resourceVersion, creationTimestamp }),
    spec: replicas === undefined || replicas === 0 ? {} : { replicas },
    status: {
      replicas: numberAt(object, ...paths.statusReplicas) ?? 0,
      ...(selector === "" ? {} : { selector }),
    },
  };
}

function selectorText(value: unknown): string {
  if (typeof value === "string") return value;
  if (!isJsonObject(value)) return "";
  const structured = isFields(value["matchLabels"]) || Array.isArray(value["matchExpressions"]);
  return formatSelector(structured ? labelSelector(value) : labelSelector({ matchLabels: value }));
}

function labelSelector(value: Fields): LabelSelector {
  const matchExpressions = objectsAt(value, "matchExpressions").filter(isRequirement);
  const matchLabels: Record<string, string> = {};
  for (const [key, text] of Object.entries(fieldsAt(value, "matchLabels"))) {
    if (typeof text === "string") matchLabels[key] = text;
  }
  return { matchLabels, matchExpressions };
}

const operators: readonly unknown[] = ["In", "NotIn", "Exists", "DoesNotExist"];

function isRequirement(value: Fields): value is Fields & LabelSelectorRequirement {
  return typeof value["key"] === "string" && operators.includes(value["operator"]);
}

/** How answers about a Scale are printed: it has no table of its own. */
function scaleServed(served: Served): Served {
  return {
    ...served,
    group: "autoscaling",
    version: "v1",
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    printer: plainPrinter,
  };
}

async function workingObject(target: Target): Promise<StoredObject> {
  const { served, namespace, name } = target;
  const revision = served.resource.table.get(namespace, name);
  if (revision === undefined) throw notFound(served, name);
  const [view] = await inVersion([revision], served, workingVersion(served));
  return view?.object ?? revision.object;
}

function reply(clock: Clock, exchange: Exchange, target: Target, scale: StoredObject): Reply {
  const served = scaleServed(target.served);
  const media = mediaFor(exchange, served);
  return objectReply(200, new Revision(scale, 0), served, media, tableOptions(clock, exchange));
}

export async function getScale(
  world: Pick<World, "clock">,
  exchange: Exchange,
  target: Target,
): Promise<Reply> {
  return reply(world.clock, exchange, target, scaleOf(await workingObject(target), target.served));
}

export async function putScale(world: UpdateParts, exchange: Exchange, target: Target): Promise<Reply> {
  const { value, duplicates } = await parseBody(exchange, "Scale");
  if (!isFields(value)) throw badRequest("the body is not a Scale");
  return writeScale(world, exchange, target, async () => typedObject(exchange, value, expected, duplicates));
}

export async function patchScale(world: UpdateParts, exchange: Exchange, target: Target): Promise<Reply> {
  const apply = await mergedPatch(exchange, "autoscaling/v1", "Scale");
  return writeScale(world, exchange, target, async (current) =>
    typedObject(exchange, apply(current), expected),
  );
}

async function writeScale(
  world: UpdateParts,
  exchange: Exchange,
  target: Target,
  wanted: (current: StoredObject) => Promise<StoredObject>,
): Promise<Reply> {
  const { served, name } = target;
  const request = writeRequest(exchange, target, "UpdateOptions");
  const updated = await updateObject(world, request, async (current) => {
    const scale = await wanted(scaleOf(current, served));
    const version = scale.metadata.resourceVersion ?? "";
    if (version !== "" && version !== current.metadata.resourceVersion) {
      throw conflict(served, name, modifiedMeanwhile);
    }
    const replicas = valueAt(scale, "spec", "replicas") ?? 0;
    if (typeof replicas !== "number" || replicas < 0) {
      const wrong = fieldInvalid("spec.replicas", replicas, "must be greater than or equal to 0");
      throw invalid({ group: "autoscaling", kind: "Scale" }, name, [wrong]);
    }
    const draft: StoredObject = structuredClone(current);
    setAt(draft, pathsOf(served).replicas, replicas);
    return { draft };
  });
  const object = await convertObject(updated.object, served, workingVersion(served));
  return reply(world.clock, exchange, target, scaleOf(object, served));
}
