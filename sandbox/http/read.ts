/** GET of one object and lists of many. */
import { type Clock, errorText } from "../../kube/core/index.ts";
import type { StoredObject } from "../cluster.ts";
import { numberAt, valueAt } from "../json.ts";
import type { Served } from "../resources/resource.ts";
import type { Revision } from "../revision.ts";
import type { Storage } from "../storage.ts";
import type { World } from "../world.ts";
import { inVersion } from "../writes/working.ts";
import { ApiError, badRequest, expired, notFound } from "./api_error.ts";
import type { Exchange, Reply } from "./exchange.ts";
import { type ListOptions, matcher, parseListOptions, usableIndex } from "./list_options.ts";
import { type Media, negotiate } from "./negotiate.ts";
import { type ListMeta, protobufKnows } from "./protobuf.ts";
import { listReply, objectReply, type TableOptions } from "./represent.ts";
import { faultTarget, type Target } from "./target.ts";

type ReadParts = Pick<World, "clock" | "faults" | "storage">;

export function mediaFor(exchange: Exchange, served: Served): Media {
  const pretty = exchange.query.get("pretty");
  const offer = { protobuf: protobufKnows(served), transforms: true };
  return negotiate(exchange.header("accept"), offer, pretty === "true" || pretty === "1");
}

export function tableOptions(clock: Clock, exchange: Exchange): TableOptions {
  return {
    includeObject: exchange.query.get("includeObject") ?? "Metadata",
    now: clock.now(),
  };
}

export async function getObject(world: ReadParts, exchange: Exchange, target: Target): Promise<Reply> {
  const { served, namespace, name } = target;
  const media = mediaFor(exchange, served);
  const { table } = served.resource;
  const lag = laggingVersion(world, exchange, target);
  const revision =
    lag === undefined
      ? table.get(namespace, name)
      : table.listAt(lag, namespace)?.find((found) => found.name === name);
  if (revision === undefined) throw notFound(served, name);
  const [view] = await inVersion([revision], served, served.apiVersion);
  return objectReply(200, view ?? revision, served, media, tableOptions(world.clock, exchange));
}

export async function listObjects(world: ReadParts, exchange: Exchange, target: Target): Promise<Reply> {
  const { served } = target;
  const media = mediaFor(exchange, served);
  const options = parseListOptions(exchange.query, served);
  const page = pageOf(world, exchange, target, options);
  const views = await inVersion(page.items, served, served.apiVersion);
  return listReply(views, served, page.meta, media, tableOptions(world.clock, exchange));
}

interface Page {
  readonly items: readonly Revision[];
  readonly meta: ListMeta;
}

function pageOf(world: ReadParts, exchange: Exchange, target: Target, options: ListOptions): Page {
  const { served, namespace } = target;
  const { table } = served.resource;
  const matches = matcher(options, served);
  const snapshot = snapshotOf(world, exchange, target, options);
  let found: readonly Revision[];
  if (snapshot.version === undefined) {
    found = storedNow(target, options, matches);
  } else {
    const state = table.listAt(snapshot.version, namespace);
    if (state === undefined) throw expired("The resourceVersion for the provided list is too old.");
    found = state.filter((revision) => matches(revision.object));
  }
  const version = snapshot.version ?? world.storage.version;
  const rest = snapshot.after === "" ? found : found.filter((revision) => sortKey(revision) > snapshot.after);
  return cut(rest, options, version);
}

/** The objects that match, by way of an index where there is one. */
export function storedNow(
  { served, namespace }: Target,
  options: ListOptions,
  matches: (object: StoredObject) => boolean,
): readonly Revision[] {
  const { table } = served.resource;
  const index = usableIndex(options, served);
  const candidates =
    index === undefined ? table.list(namespace) : (table.listIndexed(index.name, index.value) ?? []);
  return candidates.filter(
    (revision) => (namespace === "" || revision.namespace === namespace) && matches(revision.object),
  );
}

function sortKey(revision: Revision): string {
  return `${revision.namespace}\u0000${revision.name}`;
}

function cut(found: readonly Revision[], options: ListOptions, version: number): Page {
  const resourceVersion = String(version);
  if (options.limit <= 0 || found.length <= options.limit) return { items: found, meta: { resourceVersion } };
  const items = found.slice(0, options.limit);
  const last = items.at(-1);
  const token = { rv: version, start: last === undefined ? "" : sortKey(last) };
  const unfiltered = options.labels.empty && options.fields.requirements.length === 0;
  return {
    items,
    meta: {
      resourceVersion,
      continue: Buffer.from(JSON.stringify(token)).toString("base64url"),
      ...(unfiltered ? { remainingItemCount: found.length - items.length } : {}),
    },
  };
}

interface Snapshot {
  /** Undefined: what is stored now. */
  readonly version: number | undefined;
  /** Sort key behind which a continued list goes on. */
  readonly after: string;
}

function snapshotOf(world: ReadParts, exchange: Exchange, target: Target, options: ListOptions): Snapshot {
  const asked = options.resourceVersion ?? 0;
  if (asked > world.storage.version) {
    throw new ApiError(
      504,
      "Timeout",
      `Timeout: Too large resource version: ${asked}, current: ${world.storage.version}`,
      {
        causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
        retryAfterSeconds: 1,
      },
    );
  }
  const pinned = options.continueToken !== "" || options.resourceVersionMatch === "Exact";
  if (pinned && world.faults.strike("expire", faultTarget(exchange, target, "list")) !== undefined) {
    throw expired(oldToken);
  }
  if (options.continueToken !== "") return continued(world.storage, target, options);
  if (options.resourceVersionMatch === "Exact") return { version: asked, after: "" };
  return { version: laggingVersion(world, exchange, target), after: "" };
}

const oldToken =
  "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.";

function continued(storage: Storage, target: Target, options: ListOptions): Snapshot {
  const token = readToken(options.continueToken);
  if (token.version > 0 && target.served.resource.table.listAt(token.version, "") === undefined) {
    throw expired(oldToken);
  }
  return { version: token.version > 0 ? token.version : storage.version, after: token.after };
}

function readToken(text: string): { version: number; after: string } {
  try {
    const token: unknown = JSON.parse(Buffer.from(text, "base64url").toString());
    const [version, after] = [numberAt(token, "rv"), valueAt(token, "start")];
    if (version !== undefined && typeof after === "string") return { version, after };
  } catch (error) {
    throw badRequest(`invalid continue token: continue key is not valid: ${errorText(error)}`);
  }
  throw badRequest("invalid continue token: continue key is not valid");
}

/** The version that a lagging server answers from; undefined when it does not lag. */
function laggingVersion(world: ReadParts, exchange: Exchange, target: Target): number | undefined {
  const lag = world.faults.strike("lag", faultTarget(exchange, target, target.name === "" ? "list" : "get"));
  if (lag === undefined) return undefined;
  const { table } = target.served.resource;
  let version = world.storage.version - (lag.versions ?? 0);
  if (lag.ms !== undefined) {
    const before = world.clock.now() - lag.ms;
    const recent = table.changesAfter(table.forgottenVersion)?.find((change) => change.at > before);
    if (recent !== undefined) version = Math.min(version, recent.version - 1);
  }
  return Math.max(version, table.forgottenVersion);
}
