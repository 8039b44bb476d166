/**
 * Pods straight from the wire into their projection: fields that are not kept are skipped, equal parts are shared.
 * Field numbers are those of proto/core/core.proto; a property test holds this reader to the generated tables.
 */
import { crc32 } from "node:zlib";
import { WireError } from "../../proto/core/index.ts";
import type {
  ContainerStatus,
  ControllerOf,
  Pod,
  PodCondition,
  PodContainer,
  PodEnv,
  ResourceAmounts,
} from "../pod.ts";
import { bytesKey, endOfField, InternTable, StringIntern } from "./intern.ts";
import { type protobuf, readerOf } from "./wire_reader.ts";

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };
/** A shared value and its number, from which keys of lists are made. */
type Shared<V> = { readonly id: number; readonly value: V };

const none: readonly never[] = Object.freeze([]);
const noAmounts: ResourceAmounts = Object.freeze({});
const noLabels: Readonly<Record<string, string>> = Object.freeze({});
/** Metadata of `kubectl apply`: as large as the pod's spec and read by nobody here. */
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";

/** One reader keeps one set of tables: use one for each codec. */
export class PodReader {
  readonly #strings = new StringIntern(8192, 80);
  readonly #images = new StringIntern(2048, 512);
  readonly #conditions = new InternTable<PodCondition>(8192);
  readonly #amounts = new InternTable<Shared<ResourceAmounts>>(1024);
  readonly #controllers = new InternTable<Shared<ControllerOf | undefined>>(4096);
  readonly #env = new InternTable<Shared<PodEnv | undefined>>(4096);
  readonly #containers = new InternTable<Shared<PodContainer>>(2048);
  readonly #lists = new InternTable<readonly string[]>(4096);
  readonly #containerLists = new InternTable<readonly PodContainer[]>(2048);
  /** Whole pods that were read lately: what a write was answered comes once more, as an event of the watch. */
  readonly #pods = new InternTable<Pod>(256);
  #nextId = 0;
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
      else if (tag === 26) pod.namespace = this.#strings.read(reader, buffer);
      else if (tag === 42) pod.uid = reader.string();
      else if (tag === 50) pod.resourceVersion = reader.string();
      else if (tag === 56) this.#generation = Number(reader.int64());
      else if (tag === 66) pod.createdAt = timeOf(reader);
      else if (tag === 74) pod.deletionAt = timeOf(reader);
      else if (tag === 90) this.#entry(reader, buffer, labels);
      else if (tag === 98) this.#entry(reader, buffer, annotations);
      else if (tag === 106) pod.controller = this.#owner(reader, buffer) ?? pod.controller;
      else if (tag === 114) finalizers.push(this.#strings.read(reader, buffer));
      else if (tag === 138) pod.fieldManagers = this.#fieldManagers(reader, buffer, pod.fieldManagers);
      else return false;
      return true;
    });
    pod.labels = orShared(labels);
    pod.annotations = orShared(annotations);
    pod.finalizers = this.#sharedStrings(finalizers);
  }

  #fieldManagers(
    reader: protobuf.Reader,
    buffer: Buffer,
    before: Pod["fieldManagers"],
  ): Pod["fieldManagers"] {
    let operation = "";
    each(reader, (tag) => {
      if (tag !== 18) return false;
      operation = this.#strings.read(reader, buffer);
      return true;
    });
    return operation === "Apply" ? "applies" : before === "none" ? "updates" : before;
  }

  #entry(reader: protobuf.Reader, buffer: Buffer, into: Record<string, string>): void {
    let key = "";
    let value = "";
    each(reader, (tag) => {
      if (tag === 10) key = this.#strings.read(reader, buffer);
      else if (tag === 18) value = this.#strings.read(reader, buffer);
      else return false;
      return true;
    });
    if (key !== lastApplied) into[key] = value;
  }

  /** The owner if it is the controller. */
  #owner(reader: protobuf.Reader, buffer: Buffer): ControllerOf | undefined {
    return this.#shared(this.#controllers, reader, buffer, () => {
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
      if (tag === 18) containers.push(this.#container(reader, buffer));
      else if (tag === 82) pod.nodeName = this.#strings.read(reader, buffer);
      else if (tag === 146 && pod.nodeName === "") pod.pinnedTo = pinnedNode(reader);
      else if (tag === 226) gates.push(this.#firstString(reader, buffer));
      else return false;
      return true;
    });
    if (pod.nodeName !== "") pod.pinnedTo = undefined;
    pod.readinessGates = this.#sharedStrings(gates);
    const key = containers.map((container) => container.id).join();
    pod.containers =
      this.#containerLists.get(key) ??
      this.#containerLists.set(
        key,
        containers.map((container) => container.value),
      );
  }

  #container(reader: protobuf.Reader, buffer: Buffer): Shared<PodContainer> {
    const container: Mutable<PodContainer> = {
      name: "",
      image: "",
      resources: noAmounts,
      env: none,
      resizePolicy: noLabels,
    };
    const env: Shared<PodEnv | undefined>[] = [];
    const policies: Record<string, string> = {};
    let resources = -1;
    each(reader, (tag) => {
      if (tag === 10) container.name = this.#strings.read(reader, buffer);
      else if (tag === 18) container.image = this.#images.read(reader, buffer);
      else if (tag === 58) env.push(this.#variable(reader, buffer));
      else if (tag === 66) {
        const amounts = this.#resources(reader, buffer);
        container.resources = amounts.value;
        resources = amounts.id;
      } else if (tag === 186) this.#entry(reader, buffer, policies);
      else return false;
      return true;
    });
    const kept = env.filter((variable) => variable.value !== undefined);
    const key = [
      container.name,
      container.image,
      resources,
      kept.map((variable) => variable.id).join(),
      ...Object.entries(policies).flat(),
    ].join("\n");
    const held = this.#containers.get(key);
    if (held) return held;
    if (kept.length > 0) container.env = kept.flatMap((variable) => variable.value ?? []);
    container.resizePolicy = orShared(policies);
    return this.#containers.set(key, { id: this.#nextId++, value: container });
  }

  /** Undefined for variables that no plan needs. */
  #variable(reader: protobuf.Reader, buffer: Buffer): Shared<PodEnv | undefined> {
    return this.#shared(this.#env, reader, buffer, () => {
      const read = {
        name: "",
        value: "",
        fieldPath: undefined as string | undefined,
        configMapKey: undefined as PodEnv["configMapKey"],
      };
      each(reader, (tag) => {
        if (tag === 10) read.name = reader.string();
        else if (tag === 18) read.value = reader.string();
        else if (tag === 26) this.#valueFrom(reader, buffer, read);
        else return false;
        return true;
      });
      return keptVariable(read);
    });
  }

  #valueFrom(
    reader: protobuf.Reader,
    buffer: Buffer,
    into: { fieldPath: string | undefined; configMapKey: PodEnv["configMapKey"] },
  ): void {
    each(reader, (tag) => {
      if (tag === 10) {
        into.fieldPath = "";
        each(reader, (field) => {
          if (field !== 18) return false;
          into.fieldPath = reader.string();
          return true;
        });
      } else if (tag === 26) {
        const key = { name: "", key: "" };
        each(reader, (field) => {
          if (field === 10) key.name = this.#firstString(reader, buffer);
          else if (field === 18) key.key = reader.string();
          else return false;
          return true;
        });
        into.configMapKey = key;
      } else return false;
      return true;
    });
  }

  #resources(reader: protobuf.Reader, buffer: Buffer): Shared<ResourceAmounts> {
    return this.#shared(this.#amounts, reader, buffer, () => {
      const limits: Record<string, string> = {};
      const requests: Record<string, string> = {};
      each(reader, (tag) => {
        if (tag === 10) this.#quantity(reader, buffer, limits);
        else if (tag === 18) this.#quantity(reader, buffer, requests);
        else return false;
        return true;
      });
      return amountsOf(limits, requests);
    });
  }

  #quantity(reader: protobuf.Reader, buffer: Buffer, into: Record<string, string>): void {
    let key = "";
    let value = "";
    each(reader, (tag) => {
      if (tag === 10) key = this.#strings.read(reader, buffer);
      else if (tag === 18) value = this.#firstString(reader, buffer);
      else return false;
      return true;
    });
    into[key] = value;
  }

  #status(reader: protobuf.Reader, buffer: Buffer, pod: Mutable<Pod>): void {
    const conditions: PodCondition[] = [];
    const statuses: ContainerStatus[] = [];
    let initRestarts = 0;
    each(reader, (tag) => {
      if (tag === 10) pod.phase = this.#strings.read(reader, buffer);
      else if (tag === 18) conditions.push(this.#condition(reader, buffer));
      else if (tag === 50) pod.podIP = reader.string();
      else if (tag === 66) statuses.push(this.#containerStatus(reader, buffer));
      else if (tag === 82) initRestarts += this.#containerStatus(reader, buffer).restartCount;
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
      if (tag === 10) condition.type = this.#strings.read(reader, buffer);
      else if (tag === 18) condition.status = this.#strings.read(reader, buffer);
      else if (tag === 34) condition.lastTransitionAt = timeOf(reader);
      else if (tag === 42) condition.reason = this.#strings.read(reader, buffer);
      else if (tag === 50) condition.message = this.#strings.read(reader, buffer);
      else return false;
      return true;
    });
    return this.#conditions.set(key, condition);
  }

  #containerStatus(reader: protobuf.Reader, buffer: Buffer): ContainerStatus {
    let name = "";
    let image = "";
    let imageID = "";
    let containerID = "";
    let ready = false;
    let restartCount = 0;
    let resources: ResourceAmounts | undefined;
    each(reader, (tag) => {
      if (tag === 10) name = this.#strings.read(reader, buffer);
      else if (tag === 32) ready = reader.bool();
      else if (tag === 40) restartCount = reader.int32();
      else if (tag === 50) image = this.#images.read(reader, buffer);
      else if (tag === 58) imageID = this.#images.read(reader, buffer);
      else if (tag === 66) containerID = reader.string();
      else if (tag === 90) resources = this.#resources(reader, buffer).value;
      else return false;
      return true;
    });
    if (resources === undefined) return { name, image, imageID, containerID, ready, restartCount };
    return { name, image, imageID, containerID, ready, restartCount, resources };
  }

  /** A message of which only the string in field 1 matters. */
  #firstString(reader: protobuf.Reader, buffer: Buffer): string {
    let value = "";
    each(reader, (tag) => {
      if (tag !== 10) return false;
      value = this.#strings.read(reader, buffer);
      return true;
    });
    return value;
  }

  #sharedStrings(list: readonly string[]): readonly string[] {
    if (list.length === 0) return none;
    const key = list.join("\n");
    return this.#lists.get(key) ?? this.#lists.set(key, list.slice());
  }

  /** The value made of the message that comes next; equal bytes give the same one. */
  #shared<V>(
    table: InternTable<Shared<V>>,
    reader: protobuf.Reader,
    buffer: Buffer,
    make: () => V,
  ): Shared<V> {
    const start = reader.pos;
    const end = endOfField(reader);
    const key = bytesKey(buffer, reader.pos, end);
    const held = table.get(key);
    if (held) {
      reader.pos = end;
      return held;
    }
    reader.pos = start;
    return table.set(key, { id: this.#nextId++, value: make() });
  }
}

/**
 * UID and resourceVersion, which follow each other in ObjectMeta, with length and checksum of all bytes: the same version
 * is told with other contents by dry runs, by answers to deletions, and when a selection loses the pod. Undefined, and
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

/** Reads a message field by field: `read` takes a field by its tag or returns false to have it skipped. */
function each(reader: protobuf.Reader, read: (tag: number) => boolean): void {
  const end = endOfField(reader);
  while (reader.pos < end) {
    const tag = reader.uint32();
    if (!read(tag)) reader.skipType(tag & 7);
  }
  if (reader.pos !== end) throw new WireError("a field runs past the end of its message");
}

/** meta/v1 Time in milliseconds. */
function timeOf(reader: protobuf.Reader): number {
  let seconds = 0;
  let nanos = 0;
  each(reader, (tag) => {
    if (tag === 8) seconds = Number(reader.int64());
    else if (tag === 16) nanos = reader.int32();
    else return false;
    return true;
  });
  return seconds * 1000 + Math.floor(nanos / 1_000_000);
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

function orShared(map: Record<string, string>): Readonly<Record<string, string>> {
  return Object.keys(map).length === 0 ? noLabels : map;
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

/** Only `KRUISE_*` variables and those with a fieldRef are kept (kube/pod.ts). */
export function keptVariable(read: {
  name: string;
  value: string;
  fieldPath: string | undefined;
  configMapKey: PodEnv["configMapKey"];
}): PodEnv | undefined {
  const { name, value, fieldPath, configMapKey } = read;
  if (!name.startsWith("KRUISE_") && fieldPath === undefined) return undefined;
  return {
    name,
    ...(value === "" ? {} : { value }),
    ...(fieldPath === undefined ? {} : { fieldPath }),
    ...(configMapKey === undefined ? {} : { configMapKey }),
  };
}

export function amountsOf(limits: Record<string, string>, requests: Record<string, string>): ResourceAmounts {
  return {
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
    ...(Object.keys(requests).length === 0 ? {} : { requests }),
  };
}
