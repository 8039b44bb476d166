/**
 * Pods straight from the wire into their projection: fields that are not kept are skipped, equal parts are shared.
 * Field numbers are those of proto/core/core.proto; a property test holds this reader to the generated tables.
 */
import { crc32 } from "node:zlib";
import type { ContainerStatus, ControllerOf, Pod, PodCondition, PodContainer } from "../pod.ts";
import { ContainerReader } from "./container_reader.ts";
import { bytesKey, endOfField, InternTable } from "./intern.ts";
import {
  each,
  type Mutable,
  noLabels,
  none,
  orShared,
  readTime,
  type Shared,
  SharedParts,
} from "./shared_parts.ts";
import { type protobuf, readerOf } from "./wire_reader.ts";

/** One reader keeps one set of tables: use one for each codec. */
export class PodReader {
  readonly #parts = new SharedParts();
  readonly #container = new ContainerReader(this.#parts);
  readonly #conditions = new InternTable<PodCondition>(8192);
  readonly #controllers = new InternTable<Shared<ControllerOf | undefined>>(4096);
  readonly #containerLists = new InternTable<readonly PodContainer[]>(2048);
  /** Whole pods that were read lately: what a write was answered comes once more, as an event of the watch. */
  readonly #pods = new InternTable<Pod>(256);
  /** Of the pod that is being read. */
  #generation = 0;
  #observedGeneration = 0;

  /** Throws WireError (or what protobufjs throws) on bytes that are not a pod. Equal bytes may give the same object. */
  read(message: Uint8Array): Pod {
    const { reader, buffer } = readerOf(message);
    const key = podKey(reader, buffer);
    if (key === undefined) return this.#read(reader, buffer);
    const held = this.#pods.get(key);
    if (held !== undefined) return held;
    return this.#pods.set(key, this.#read(reader, buffer));
  }

  #read(reader: protobuf.Reader, buffer: Buffer): Pod {
    const pod = blankPod();
    this.#generation = 0;
    this.#observedGeneration = 0;
    while (reader.pos < reader.len) {
      const tag = reader.uint32();
      if (tag === 10) this.#metadata(reader, buffer, pod);
      else if (tag === 18) this.#spec(reader, buffer, pod);
      else if (tag === 26) this.#status(reader, buffer, pod);
      else reader.skipType(tag & 7);
    }
    if (this.#observedGeneration > 0 && this.#observedGeneration < this.#generation) pod.behind = true;
    return pod;
  }

  #metadata(reader: protobuf.Reader, buffer: Buffer, pod: Mutable<Pod>): void {
    const labels: Record<string, string> = {};
    const annotations: Record<string, string> = {};
    const finalizers: string[] = [];
    each(reader, (tag) => {
      if (tag === 10) pod.name = reader.string();
      else if (tag === 26) pod.namespace = this.#parts.string(reader, buffer);
      else if (tag === 42) pod.uid = reader.string();
      else if (tag === 50) pod.resourceVersion = reader.string();
      else if (tag === 56) this.#generation = Number(reader.int64());
      else if (tag === 66) pod.createdAt = readTime(reader);
      else if (tag === 74) pod.deletionAt = readTime(reader);
      else if (tag === 90) this.#parts.entry(reader, buffer, labels);
      else if (tag === 98) this.#parts.entry(reader, buffer, annotations);
      else if (tag === 106) pod.controller = this.#owner(reader, buffer) ?? pod.controller;
      else if (tag === 114) finalizers.push(this.#parts.string(reader, buffer));
      else if (tag === 138) pod.fieldManagers = this.#fieldManagers(reader, buffer, pod.fieldManagers);
      else return false;
      return true;
    });
    pod.labels = orShared(labels);
    pod.annotations = orShared(annotations);
    pod.finalizers = this.#parts.strings(finalizers);
  }

  #fieldManagers(
    reader: protobuf.Reader,
    buffer: Buffer,
    before: Pod["fieldManagers"],
  ): Pod["fieldManagers"] {
    let operation = "";
    each(reader, (tag) => {
      if (tag !== 18) return false;
      operation = this.#parts.string(reader, buffer);
      return true;
    });
    return operation === "Apply" ? "applies" : before === "none" ? "updates" : before;
  }

  /** The owner if it is the controller. */
  #owner(reader: protobuf.Reader, buffer: Buffer): ControllerOf | undefined {
    return this.#parts.shared(this.#controllers, reader, buffer, () => {
      const owner = { apiVersion: "", kind: "", name: "", uid: "", controller: false };
      each(reader, (tag) => {
        if (tag === 10) owner.kind = reader.string();
        else if (tag === 26) owner.name = reader.string();
        else if (tag === 34) owner.uid = reader.string();
        else if (tag === 42) owner.apiVersion = reader.string();
        else if (tag === 48) owner.controller = reader.bool();
        else return false;
        return true;
      });
      return owner.controller ? controllerOf(owner) : undefined;
    }).value;
  }

  #spec(reader: protobuf.Reader, buffer: Buffer, pod: Mutable<Pod>): void {
    const containers: Shared<PodContainer>[] = [];
    const gates: string[] = [];
    each(reader, (tag) => {
      if (tag === 18) containers.push(this.#container.read(reader, buffer));
      else if (tag === 82) pod.nodeName = this.#parts.string(reader, buffer);
      else if (tag === 146 && pod.nodeName === "") pod.pinnedTo = pinnedNode(reader);
      else if (tag === 226) gates.push(this.#parts.firstString(reader, buffer));
      else return false;
      return true;
    });
    if (pod.nodeName !== "") pod.pinnedTo = undefined;
    pod.readinessGates = this.#parts.strings(gates);
    const key = containers.map((container) => container.id).join();
    pod.containers =
      this.#containerLists.get(key) ??
      this.#containerLists.set(
        key,
        containers.map((container) => container.value),
      );
  }

  #status(reader: protobuf.Reader, buffer: Buffer, pod: Mutable<Pod>): void {
    const conditions: PodCondition[] = [];
    const statuses: ContainerStatus[] = [];
    let initRestarts = 0;
    each(reader, (tag) => {
      if (tag === 10) pod.phase = this.#parts.string(reader, buffer);
      else if (tag === 18) conditions.push(this.#condition(reader, buffer));
      else if (tag === 50) pod.podIP = reader.string();
      else if (tag === 66) statuses.push(this.#container.status(reader, buffer));
      else if (tag === 82) initRestarts += this.#container.status(reader, buffer).restartCount;
      else if (tag === 136) this.#observedGeneration = Number(reader.int64());
      else return false;
      return true;
    });
    // Lists that grew by pushing hold room for more: copies hold what they need.
    pod.conditions = conditions.length === 0 ? none : conditions.slice();
    pod.containerStatuses = statuses.length === 0 ? none : statuses.slice();
    pod.initRestarts = initRestarts;
  }

  #condition(reader: protobuf.Reader, buffer: Buffer): PodCondition {
    const start = reader.pos;
    const end = endOfField(reader);
    const key = bytesKey(buffer, reader.pos, end);
    const held = this.#conditions.get(key);
    if (held) {
      reader.pos = end;
      return held;
    }
    reader.pos = start;
    const condition: Mutable<PodCondition> = {
      type: "",
      status: "",
      reason: "",
      message: "",
      lastTransitionAt: 0,
    };
    each(reader, (tag) => {
      if (tag === 10) condition.type = this.#parts.string(reader, buffer);
      else if (tag === 18) condition.status = this.#parts.string(reader, buffer);
      else if (tag === 34) condition.lastTransitionAt = readTime(reader);
      else if (tag === 42) condition.reason = this.#parts.string(reader, buffer);
      else if (tag === 50) condition.message = this.#parts.string(reader, buffer);
      else return false;
      return true;
    });
    return this.#conditions.set(key, condition);
  }
}

/**
 * UID and resourceVersion, which follow each other in ObjectMeta, with length and checksum of all bytes: the same version
 * is reported with other contents by dry runs, by answers to deletions, and when a selection loses the pod. Undefined, and
 * nothing read, when the two are not where they always are.
 */
function podKey(reader: protobuf.Reader, buffer: Buffer): string | undefined {
  const version = versionBytes(reader, buffer);
  reader.pos = 0;
  return version === undefined ? undefined : `${version}${reader.len}:${crc32(buffer)}`;
}

function versionBytes(reader: protobuf.Reader, buffer: Buffer): string | undefined {
  if (reader.len === 0 || reader.uint32() !== 10) return undefined;
  const end = endOfField(reader);
  while (reader.pos < end) {
    const tag = reader.uint32();
    if (tag !== 42) {
      reader.skipType(tag & 7);
      continue;
    }
    const start = reader.pos;
    reader.pos = endOfField(reader, end);
    if (reader.pos >= end || reader.uint32() !== 50) return undefined;
    const versionEnd = endOfField(reader, end);
    return versionEnd === reader.pos ? undefined : bytesKey(buffer, start, versionEnd);
  }
  return undefined;
}

/** The node that an Affinity names by field: node affinity, required, a term's match of `metadata.name`. */
function pinnedNode(reader: protobuf.Reader): string | undefined {
  let node: string | undefined;
  const within = (field: number, read: () => void) =>
    each(reader, (tag) => {
      if (tag !== field) return false;
      read();
      return true;
    });
  within(10, () =>
    within(10, () =>
      within(10, () =>
        within(18, () => {
          // Read in any case: what is not consumed here would be taken for the next field.
          const named = nodeOfRequirement(reader);
          node ??= named;
        }),
      ),
    ),
  );
  return node;
}

function nodeOfRequirement(reader: protobuf.Reader): string | undefined {
  let key = "";
  let operator = "";
  const values: string[] = [];
  each(reader, (tag) => {
    if (tag === 10) key = reader.string();
    else if (tag === 18) operator = reader.string();
    else if (tag === 26) values.push(reader.string());
    else return false;
    return true;
  });
  return key === "metadata.name" && operator === "In" && values.length === 1 ? values[0] : undefined;
}

function blankPod(): Mutable<Pod> {
  return {
    namespace: "",
    name: "",
    uid: "",
    resourceVersion: "",
    createdAt: 0,
    deletionAt: undefined,
    labels: noLabels,
    annotations: noLabels,
    finalizers: none,
    fieldManagers: "none",
    controller: undefined,
    nodeName: "",
    pinnedTo: undefined,
    readinessGates: none,
    containers: none,
    phase: "",
    conditions: none,
    containerStatuses: none,
    initRestarts: 0,
    podIP: "",
  };
}

export function controllerOf(owner: {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
}): ControllerOf {
  const slash = owner.apiVersion.indexOf("/");
  const group = slash < 0 ? "" : owner.apiVersion.slice(0, slash);
  return { group, kind: owner.kind, name: owner.name, uid: owner.uid };
}
