/** Docker's credential files, in both formats, and which of their entries match an image as the kubelet does. Pure. */
import { Buffer } from "node:buffer";
import { AgentError } from "../errors.ts";

/** One way to log in. Tokens are passed on where an entry has them. */
export interface Login {
  readonly username: string;
  readonly password: string;
  readonly identityToken?: string;
  readonly registryToken?: string;
}

/** A pattern of registry, port and path, such as `*.example.com:5000/team`, and its login. */
export interface RegistryLogin {
  readonly pattern: string;
  readonly login: Login;
}

type JsonObject = Record<string, unknown>;

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** `{"auths": {…}}` (`.dockerconfigjson`, `config.json`) or the entries alone (`.dockercfg`). Throws AgentError `Config`. */
export function parseDockerConfig(text: string, source: string): RegistryLogin[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    // The text itself may hold a password: the parser's message would print a part of it.
    throw new AgentError(
      "Config",
      `${source} is not valid JSON`,
      error instanceof SyntaxError ? undefined : error,
    );
  }
  if (!isObject(parsed)) throw new AgentError("Config", `${source} is not a JSON object`);
  const auths = "auths" in parsed ? parsed["auths"] : parsed;
  if (auths === null || auths === undefined) return [];
  if (!isObject(auths)) throw new AgentError("Config", `${source}: auths is not an object`);
  const logins: RegistryLogin[] = [];
  for (const [registry, entry] of Object.entries(auths)) {
    if (!isObject(entry)) continue;
    const login = loginOf(entry, `${source}: ${registry}`);
    if (login) logins.push({ pattern: registryPattern(registry), login });
  }
  return logins;
}

function textOf(entry: JsonObject, key: string): string {
  const value = entry[key];
  return typeof value === "string" ? value : "";
}

function loginOf(entry: JsonObject, source: string): Login | undefined {
  let username = textOf(entry, "username");
  let password = textOf(entry, "password");
  const auth = textOf(entry, "auth");
  if (auth !== "") {
    const decoded = Buffer.from(auth.trim(), "base64").toString("utf8");
    const login = withoutEnd(decoded, "\0");
    const colon = login.indexOf(":");
    if (colon < 0) throw new AgentError("Config", `${source}: auth is not base64 of user:password`);
    username = login.slice(0, colon);
    password = login.slice(colon + 1);
  }
  const identityToken = textOf(entry, "identitytoken");
  const registryToken = textOf(entry, "registrytoken");
  if (username === "" && password === "" && identityToken === "" && registryToken === "") return undefined;
  return {
    username,
    password,
    ...(identityToken ? { identityToken } : {}),
    ...(registryToken ? { registryToken } : {}),
  };
}

/** Without the characters `end` at the end. Not by an expression: it would try each run of them from each of its places. */
function withoutEnd(text: string, end: string): string {
  let length = text.length;
  while (length > 0 && text[length - 1] === end) length--;
  return text.slice(0, length);
}

/**
 * `https://index.docker.io/v1/` -> `index.docker.io`: scheme and API version are not part of a pattern, and neither is the
 * version before a path. A slash at the end of a path stays, as the kubelet keeps it: `reg.io/team/` is not for `reg.io/teams`.
 */
export function registryPattern(registry: string): string {
  const [host, path] = splitHost(registry.replace(/^https?:\/\//, ""));
  const rest = path.replace(/^\/v[12](?=\/|$)/, "");
  return rest === "/" ? host : host + rest;
}

/**
 * Logins for a repository (`docker.io/library/nginx`), the most specific pattern first. Docker Hub's entries are
 * written as `index.docker.io` and used when nothing else matches.
 */
export function matchingLogins(logins: readonly RegistryLogin[], repository: string): Login[] {
  const sorted = [...logins].sort((a, b) => (a.pattern < b.pattern ? 1 : a.pattern > b.pattern ? -1 : 0));
  const found = sorted.filter((one) => patternMatches(one.pattern, repository));
  if (found.length > 0 || !repository.startsWith("docker.io/")) return found.map((one) => one.login);
  return sorted.filter((one) => one.pattern === "index.docker.io").map((one) => one.login);
}

/** Host labels may hold `*`; ports must be equal; the pattern's path must be a prefix. */
export function patternMatches(pattern: string, repository: string): boolean {
  const [wantedHost, wantedPath] = splitHost(pattern);
  const [host, path] = splitHost(repository);
  if (!path.startsWith(wantedPath)) return false;
  const [wantedName, wantedPort] = splitPort(wantedHost);
  const [name, port] = splitPort(host);
  if (wantedPort !== port) return false;
  const wanted = wantedName.split(".");
  const labels = name.split(".");
  return (
    wanted.length === labels.length && wanted.every((label, index) => globMatches(label, labels[index] ?? ""))
  );
}

function splitHost(text: string): [string, string] {
  const slash = text.indexOf("/");
  return slash < 0 ? [text, ""] : [text.slice(0, slash), text.slice(slash)];
}

function splitPort(host: string): [string, string] {
  const colon = host.lastIndexOf(":");
  return colon < 0 || host.endsWith("]") ? [host, ""] : [host.slice(0, colon), host.slice(colon + 1)];
}

/** `*` is any run, `?` any one character; linear time for any pattern. */
function globMatches(pattern: string, text: string): boolean {
  let at = 0;
  let position = 0;
  let star = -1;
  let retry = 0;
  while (position < text.length) {
    const wanted = pattern[at];
    if (wanted === "*") {
      star = at++;
      retry = position;
    } else if (wanted === "?" || wanted === text[position]) {
      at++;
      position++;
    } else if (star >= 0) {
      at = star + 1;
      position = ++retry;
    } else return false;
  }
  while (pattern[at] === "*") at++;
  return at === pattern.length;
}
