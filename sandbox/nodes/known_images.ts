/**
 * Images of which a simulated node knows what is in them: repositories with the tags that they have, the ports that are served, and
 * where their programs are. Of every other image it is believed what a pod says.
 */
import { fullRepository, imageReference } from "../../node/index.ts";

export interface KnownImage {
  readonly tags: RegExp;
  readonly ports: readonly number[];
}

const knownImages: Readonly<Record<string, KnownImage>> = {
  "docker.io/library/nginx": {
    tags: /^(latest|stable|mainline|alpine|1(\.\d{1,2}){0,2})(-(alpine|perl|slim))?$/,
    ports: [80],
  },
  "docker.io/library/busybox": {
    tags: /^(latest|stable|1(\.\d{1,2}){0,2})(-(glibc|musl|uclibc))?$/,
    ports: [],
  },
  "docker.io/library/redis": { tags: /^(latest|alpine|[678](\.\d{1,2}){0,2})(-alpine)?$/, ports: [6379] },
};

interface ImageParts {
  readonly name: string;
  /** Empty where none is written. */
  readonly tag: string;
  readonly digest: string;
}

/** Of `registry:5000/app:1@sha256:...`: a port is no tag. */
export function imageParts(image: string): ImageParts {
  const [tagged = "", digest = ""] = image.split("@");
  const colon = tagged.indexOf(":", tagged.lastIndexOf("/") + 1);
  if (colon < 0) return { name: tagged, tag: "", digest };
  return { name: tagged.slice(0, colon), tag: tagged.slice(colon + 1), digest };
}

export function knownImage(image: string): KnownImage | undefined {
  return knownImages[fullRepository(imageParts(image).name)];
}

/** Whether a registry has it. By digest everything is taken to be there. */
export function tagExists(image: string): boolean {
  const { tag, digest } = imageParts(image);
  return digest !== "" || (knownImage(image)?.tags.test(tag === "" ? "latest" : tag) ?? true);
}

/** Whether a runtime takes it for the name of an image. */
export function isImageName(image: string): boolean {
  const { name, tag, digest } = imageParts(image);
  const isTagged = imageReference(name, tag === "" ? "latest" : tag) !== undefined;
  return isTagged && (digest === "" || imageReference(name, digest) !== undefined);
}

/** Directories in which programs are looked for. */
const programs = /^\/(usr\/)?(local\/)?s?bin\//;

/** Whether a program is in the image, as far as that is known: a path outside of the usual directories is not. */
export function hasProgram(image: string, program: string): boolean {
  if (knownImage(image) === undefined || !program.startsWith("/")) return true;
  return programs.test(program) || program === "/docker-entrypoint.sh";
}
