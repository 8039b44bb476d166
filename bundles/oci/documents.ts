/** JSON documents of the OCI image specification, as far as an image is derived from another one; checked when read. */
import { createHash } from "node:crypto";
import {
  Array as ArrayType,
  Integer,
  Null,
  Object as ObjectType,
  Optional,
  Record as RecordType,
  type Static,
  String as StringType,
  type TSchema,
  Union,
  Unknown,
} from "typebox";
import { Check } from "typebox/value";
import { BundleError } from "../errors.ts";

const Platform = ObjectType({
  os: StringType(),
  architecture: StringType(),
  variant: Optional(StringType()),
});

const Descriptor = ObjectType({
  mediaType: StringType(),
  digest: StringType({ pattern: "^sha256:[0-9a-f]{64}$" }),
  size: Integer({ minimum: 0 }),
  platform: Optional(Platform),
  annotations: Optional(RecordType(StringType(), StringType())),
});

const Index = ObjectType({ manifests: ArrayType(Descriptor) });
const Manifest = ObjectType({ config: Descriptor, layers: ArrayType(Descriptor) });

/** Docker writes null where there is nothing. */
const orNull = <T extends TSchema>(schema: T) => Optional(Union([schema, Null()]));

const Config = ObjectType({
  os: StringType(),
  architecture: StringType(),
  variant: Optional(StringType()),
  config: orNull(
    ObjectType({
      Env: orNull(ArrayType(StringType())),
      Labels: orNull(RecordType(StringType(), StringType())),
    }),
  ),
  rootfs: ObjectType({ diff_ids: ArrayType(StringType()) }),
  history: orNull(ArrayType(Unknown())),
});

export type Platform = Static<typeof Platform>;
export type Descriptor = Static<typeof Descriptor>;
export type Index = Static<typeof Index>;
export type Manifest = Static<typeof Manifest>;
/** Members that are not named here are kept as they are. */
export type Config = Static<typeof Config>;

export const mediaTypes = {
  index: "application/vnd.oci.image.index.v1+json",
  manifest: "application/vnd.oci.image.manifest.v1+json",
  config: "application/vnd.oci.image.config.v1+json",
  layer: "application/vnd.oci.image.layer.v1.tar+gzip",
} as const;

/** The annotation by which a layout names an image. */
export const refName = "org.opencontainers.image.ref.name";

/** The same documents under docker's names. */
export const dockerMediaTypes = {
  index: "application/vnd.docker.distribution.manifest.list.v2+json",
  manifest: "application/vnd.docker.distribution.manifest.v2+json",
} as const;

export const readIndex = (text: Uint8Array, from: string): Index => read(Index, text, from, "image index");
export const readManifest = (text: Uint8Array, from: string): Manifest =>
  read(Manifest, text, from, "image manifest");
export const readConfig = (text: Uint8Array, from: string): Config =>
  read(Config, text, from, "image configuration");

function read<T extends TSchema>(schema: T, bytes: Uint8Array, from: string, what: string): Static<T> {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    value = undefined;
  }
  if (Check(schema, value)) return value;
  throw new BundleError(`${from} is no ${what} as OCI or docker write them`);
}

/** A document or layer with its name: the digest of its bytes. */
export interface Blob {
  readonly bytes: Uint8Array;
  readonly digest: string;
}

export function blobOf(bytes: Uint8Array): Blob {
  return { bytes, digest: digestOf(bytes) };
}

/** The bytes of a document that repeats: members in the order in which they were written down. */
export function documentOf(value: object): Blob {
  return blobOf(new TextEncoder().encode(JSON.stringify(value)));
}

export function digestOf(bytes: Uint8Array): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}

export function descriptorOf({ bytes, digest }: Blob, mediaType: string): Descriptor {
  return { mediaType, digest, size: bytes.length };
}
