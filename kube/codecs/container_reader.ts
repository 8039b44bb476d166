/** Containers of pods, and what is reported of them, straight from the wire into their projections. */
import type { ContainerStatus, PodContainer, PodEnv, ResourceAmounts } from "../pod.ts";
import { InternTable } from "./intern.ts";
import {
  each,
  type Mutable,
  noAmounts,
  noLabels,
  none,
  orShared,
  type Shared,
  type SharedParts,
} from "./shared_parts.ts";
import type { protobuf } from "./wire_reader.ts";

/** Reads with the tables of its pods' reader. */
export class ContainerReader {
  readonly #parts: SharedParts;
  readonly #env = new InternTable<Shared<PodEnv | undefined>>(4096);
  readonly #containers = new InternTable<Shared<PodContainer>>(2048);

  constructor(parts: SharedParts) {
    this.#parts = parts;
  }

  /** A Container of a spec. */
  read(reader: protobuf.Reader, buffer: Buffer): Shared<PodContainer> {
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
      if (tag === 10) container.name = this.#parts.string(reader, buffer);
      else if (tag === 18) container.image = this.#parts.image(reader, buffer);
      else if (tag === 58) env.push(this.#variable(reader, buffer));
      else if (tag === 66) {
        const amounts = this.#parts.amounts(reader, buffer);
        container.resources = amounts.value;
        resources = amounts.id;
      } else if (tag === 186) this.#parts.entry(reader, buffer, policies);
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
    return this.#containers.set(key, { id: this.#parts.nextId(), value: container });
  }

  /** Undefined for variables that no plan needs. */
  #variable(reader: protobuf.Reader, buffer: Buffer): Shared<PodEnv | undefined> {
    return this.#parts.shared(this.#env, reader, buffer, () => {
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
          if (field === 10) key.name = this.#parts.firstString(reader, buffer);
          else if (field === 18) key.key = reader.string();
          else return false;
          return true;
        });
        into.configMapKey = key;
      } else return false;
      return true;
    });
  }

  /** A ContainerStatus. */
  status(reader: protobuf.Reader, buffer: Buffer): ContainerStatus {
    let name = "";
    let image = "";
    let imageID = "";
    let containerID = "";
    let ready = false;
    let restartCount = 0;
    let resources: ResourceAmounts | undefined;
    each(reader, (tag) => {
      if (tag === 10) name = this.#parts.string(reader, buffer);
      else if (tag === 32) ready = reader.bool();
      else if (tag === 40) restartCount = reader.int32();
      else if (tag === 50) image = this.#parts.image(reader, buffer);
      else if (tag === 58) imageID = this.#parts.image(reader, buffer);
      else if (tag === 66) containerID = reader.string();
      else if (tag === 90) resources = this.#parts.amounts(reader, buffer).value;
      else return false;
      return true;
    });
    if (resources === undefined) return { name, image, imageID, containerID, ready, restartCount };
    return { name, image, imageID, containerID, ready, restartCount, resources };
  }
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
