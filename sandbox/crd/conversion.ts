/** Custom objects from one version of their group to another. */
import { cloneJson } from "../../kube/core/index.ts";
import type { StoredObject } from "../cluster.ts";
import { ApiError } from "../http/api_error.ts";
import { asObject, type Fields, listAt, textAt, valueAt } from "../json.ts";
import { randomUid } from "../random.ts";
import type { Shape } from "../resources/shape.ts";
import { WebhookError } from "../webhooks.ts";
import type { World } from "../world.ts";
import { decodeCustom } from "./decode.ts";
import { applySchemaDefaults } from "./defaults.ts";

const timeoutSeconds = 30;

/** `shapes` by apiVersion; `spec` is that of the definition. */
export function converter(
  world: Pick<World, "random" | "webhooks">,
  spec: () => Fields,
  shapes: ReadonlyMap<string, Shape>,
): (objects: readonly StoredObject[], apiVersion: string) => StoredObject[] | Promise<StoredObject[]> {
  return (objects, apiVersion) => {
    const webhook = valueAt(spec(), "conversion", "webhook", "clientConfig");
    const fit = (object: StoredObject): StoredObject => fitted(object, shapes.get(apiVersion));
    const foreign = objects.filter((object) => object.apiVersion !== apiVersion);
    if (foreign.length === 0 || textAt(spec(), "conversion", "strategy") !== "Webhook") {
      return objects.map((object) => fit({ ...cloneJson(object), apiVersion }));
    }
    return convertByWebhook(world, textAt(spec(), "names", "kind"), webhook, foreign, apiVersion).then(
      (converted) => {
        const queue = [...converted];
        return objects.map((object) =>
          object.apiVersion === apiVersion ? object : fit(queue.shift() ?? object),
        );
      },
    );
  };
}

/** What the schema of the version makes of an object that is read in it. */
function fitted(object: StoredObject, shape: Shape | undefined): StoredObject {
  if (shape === undefined) return object;
  const { object: pruned } = decodeCustom(object, shape);
  applySchemaDefaults(pruned, shape);
  return {
    ...pruned,
    apiVersion: object.apiVersion ?? "",
    kind: object.kind ?? "",
    metadata: object.metadata,
  };
}

async function convertByWebhook(
  world: Pick<World, "random" | "webhooks">,
  kind: string,
  clientConfig: unknown,
  objects: readonly StoredObject[],
  apiVersion: string,
): Promise<StoredObject[]> {
  const uid = randomUid(world.random);
  const from = objects[0]?.apiVersion ?? "";
  const failed = (why: string): ApiError =>
    new ApiError(500, "", `conversion webhook for ${from}, Kind=${kind} failed: ${why}`);
  const review = {
    kind: "ConversionReview",
    apiVersion: "apiextensions.k8s.io/v1",
    request: { uid, desiredAPIVersion: apiVersion, objects },
  };
  let answer: unknown;
  try {
    answer = await world.webhooks.call(`conversion ${kind}`, clientConfig, review, timeoutSeconds);
  } catch (error) {
    if (error instanceof WebhookError) throw failed(error.message);
    throw error;
  }
  const response = valueAt(answer, "response");
  if (textAt(response, "uid") !== uid) {
    throw failed(
      `expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(textAt(response, "uid"))}`,
    );
  }
  if (textAt(response, "result", "status") !== "Success") {
    throw failed(textAt(response, "result", "message") || "invalid conversion webhook response");
  }
  const converted = listAt(response, "convertedObjects").flatMap((item) => asObject(item) ?? []);
  if (converted.length !== objects.length) {
    throw failed(`webhook returned ${converted.length} objects, expected ${objects.length}`);
  }
  return converted.map((object, at) => checked(object, objects[at], apiVersion, failed));
}

/** A webhook may change labels and annotations, no other metadata. */
function checked(
  object: StoredObject,
  before: StoredObject | undefined,
  apiVersion: string,
  failed: (why: string) => ApiError,
): StoredObject {
  if (object.apiVersion !== apiVersion) {
    throw failed(
      `invalid converted object: unexpected apiVersion ${JSON.stringify(object.apiVersion ?? "")}, expected ${JSON.stringify(apiVersion)}`,
    );
  }
  const { labels, annotations } = object.metadata;
  const metadata = cloneJson(before?.metadata ?? object.metadata);
  if (labels === undefined) delete metadata.labels;
  else metadata.labels = labels;
  if (annotations === undefined) delete metadata.annotations;
  else metadata.annotations = annotations;
  return { ...object, metadata };
}
