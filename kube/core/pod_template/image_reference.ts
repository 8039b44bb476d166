/** Image references: what kubelet and admission read out of them, and the short form in which people write them. */
import { ParseError } from "../errors.ts";

const domain =
  "(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?:\\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?";
const component = "[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*";
const name = `(?:${domain}/)?${component}(?:/${component})*`;
const reference = new RegExp(
  `^${name}(?::(?<tag>\\w[\\w.-]{0,127}))?(?:@(?<digest>[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?$`,
);

/** The tag of an image; `latest` without tag and digest, empty for a digest alone and for what is no reference. */
export function imageTag(image: string): string {
  const groups = reference.exec(image)?.groups;
  if (groups === undefined || /^[a-f0-9]{64}$/.test(image)) return "";
  return groups["tag"] ?? (groups["digest"] === undefined ? "latest" : "");
}

/** Kubernetes' pull policy for an image that has none. */
export function pullPolicyByTag(image: string): "Always" | "IfNotPresent" {
  return imageTag(image) === "latest" ? "Always" : "IfNotPresent";
}

/** An image as NodeImage keeps it. */
export interface ImageName {
  /** Short form without tag: `nginx` for `docker.io/library/nginx:1.9`. */
  readonly name: string;
  /** The tag, `latest` without one; the digest where there is one, whatever tag stands before it. */
  readonly tag: string;
}

const longestRepository = 255;

/**
 * Splits a reference into its familiar name and its tag or digest (spec images P4.1).
 * Throws ParseError `InvalidImage` in the words of the container tools.
 */
export function familiarImage(image: string): ImageName {
  if (/^[a-f0-9]{64}$/.test(image)) {
    throw unparsable(`invalid repository name (${image}), cannot specify 64-byte hexadecimal strings`);
  }
  const { domain: host, rest } = splitDomain(image);
  const colon = rest.search(/[:@]/);
  const path = colon < 0 ? rest : rest.slice(0, colon);
  if (path !== path.toLowerCase()) {
    throw unparsable(`invalid reference format: repository name (${path}) must be lowercase`);
  }
  const groups = reference.exec(`${host}/${rest}`)?.groups;
  if (groups === undefined) throw unparsable("invalid reference format");
  if (`${host}/${path}`.length > longestRepository) {
    throw unparsable(`repository name must not be more than ${longestRepository} characters`);
  }
  const digest = groups["digest"];
  if (digest !== undefined) checkDigest(digest);
  return { name: familiarName(host, path), tag: digest ?? groups["tag"] ?? "latest" };
}

const hub = "docker.io";
const official = "library/";

function splitDomain(image: string): { domain: string; rest: string } {
  const slash = image.indexOf("/");
  const first = slash < 0 ? "" : image.slice(0, slash);
  const isHost =
    first !== "" && (/[.:]/.test(first) || first === "localhost" || first !== first.toLowerCase());
  const host = isHost ? first : hub;
  const rest = isHost ? image.slice(slash + 1) : image;
  if (host !== hub && host !== `index.${hub}`) return { domain: host, rest };
  return { domain: hub, rest: rest.includes("/") ? rest : official + rest };
}

function familiarName(host: string, path: string): string {
  if (host !== hub) return `${host}/${path}`;
  const short = path.startsWith(official) ? path.slice(official.length) : path;
  return short.includes("/") ? path : short;
}

const digestLengths = new Map([
  ["sha256", 64],
  ["sha384", 96],
  ["sha512", 128],
]);

function checkDigest(digest: string): void {
  const [algorithm = "", hex = ""] = digest.split(":");
  const length = digestLengths.get(algorithm);
  if (length === undefined) throw unparsable("unsupported digest algorithm");
  if (hex.length !== length) throw unparsable("invalid checksum digest length");
  if (!/^[0-9a-f]+$/.test(hex)) throw unparsable("invalid checksum digest format");
}

function unparsable(message: string): ParseError {
  return new ParseError("InvalidImage", message);
}
