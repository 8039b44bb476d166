/** Who wrote what: the audit log of a real API server. */
import { closeSync, existsSync, openSync, readSync, writeFileSync } from "node:fs";
import { isRecord } from "../cluster/api.ts";
import type { Heard } from "./record.ts";

/** One request that was to change something. */
export interface Request {
  readonly userAgent: string;
  /** Of the token that it came with; empty for others. */
  readonly credential: string;
  readonly verb: string;
  /** As the observer calls it: `pods/status`, `clonesets.apps.kruise.io`. */
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  /** Of the object in the answer; undefined where the answer has none. */
  readonly revision: number | undefined;
  readonly status: number;
  readonly path: string;
  /** When it came and when it was answered; milliseconds since the epoch. */
  readonly fromMs: number;
  readonly toMs: number;
}

const groups = ["", "apps", "apps.kruise.io", "policy.kruise.io", "coordination.k8s.io"];

/** Writes what is to be logged, and gives the flags of an API server that logs it there. */
export function auditFlags(policy: string, log: string): string[] {
  const rules = [
    { level: "None", verbs: ["get", "list", "watch"] },
    { level: "None", namespaces: ["kube-node-lease"] },
    { level: "None", resources: [{ group: "", resources: ["events", "nodes", "nodes/status"] }] },
    { level: "RequestResponse", resources: groups.map((group) => ({ group })) },
    { level: "None" },
  ];
  const omitStages = ["RequestReceived", "ResponseStarted"];
  const head = { apiVersion: "audit.k8s.io/v1", kind: "Policy", omitManagedFields: true };
  writeFileSync(policy, JSON.stringify({ ...head, omitStages, rules }));
  return [`--audit-policy-file=${policy}`, `--audit-log-path=${log}`, "--audit-log-maxsize=4000"];
}

/** Of one line of the log; undefined for what is none. */
export function requestOf(line: string): Request | undefined {
  const event: unknown = JSON.parse(line);
  if (!isRecord(event) || !isRecord(event["objectRef"])) return undefined;
  const ref = event["objectRef"];
  const answer = isRecord(event["responseObject"]) ? event["responseObject"] : {};
  const metadata = isRecord(answer["metadata"]) ? answer["metadata"] : {};
  const status = isRecord(event["responseStatus"]) ? Number(event["responseStatus"]["code"]) : 0;
  const group = textIn(ref, "apiGroup");
  const below = textIn(ref, "subresource");
  const revision = Number(textIn(metadata, "resourceVersion"));
  return {
    userAgent: textIn(event, "userAgent"),
    credential: credentialOf(event["user"]),
    verb: textIn(event, "verb"),
    resource: `${textIn(ref, "resource")}${group && `.${group}`}${below && `/${below}`}`,
    namespace: textIn(ref, "namespace"),
    name: textIn(ref, "name") || textIn(metadata, "name"),
    revision: revision > 0 && status < 400 ? revision : undefined,
    status,
    path: textIn(event, "requestURI").replace(/\?.*$/, ""),
    fromMs: Date.parse(textIn(event, "requestReceivedTimestamp")),
    toMs: Date.parse(textIn(event, "stageTimestamp")),
  };
}

function textIn(record: Record<string, unknown>, name: string): string {
  const found = record[name];
  return typeof found === "string" ? found : "";
}

function credentialOf(user: unknown): string {
  const extra = isRecord(user) && isRecord(user["extra"]) ? user["extra"] : {};
  const found = extra["authentication.kubernetes.io/credential-id"];
  return Array.isArray(found) ? String(found[0]) : "";
}

/** A watch may tell of a change so much before the server says that it has answered, or after. */
const apartMs = 5_000;

export class AuditTrail {
  readonly #byRevision = new Map<number, Request>();
  /** Those whose answers do not say what became of the object, by what they were about. */
  readonly #others = new Map<string, Request[]>();

  add(request: Request): void {
    if (request.status >= 400) return;
    if (request.revision === undefined) {
      const key = keyOf(request.resource, request.namespace, request.name);
      this.#others.set(key, [...(this.#others.get(key) ?? []), request]);
      return;
    }
    // A request that changes nothing is answered with what an earlier one stored.
    const known = this.#byRevision.get(request.revision);
    if (known === undefined || request.fromMs < known.fromMs) this.#byRevision.set(request.revision, request);
  }

  /** The request that made this change, as far as the log tells. */
  requestOf({ revision, resource, object, type, atMs }: Heard): Request | undefined {
    const known = this.#byRevision.get(revision);
    if (known !== undefined) return known;
    const { namespace = "", name = "", deletionTimestamp } = object.metadata;
    if (type !== "DELETED" && deletionTimestamp === undefined) return undefined;
    const candidates = this.#others.get(keyOf(resource, namespace, name)) ?? [];
    const found = candidates.findIndex(
      ({ fromMs, toMs }) => fromMs - apartMs <= atMs && atMs <= toMs + apartMs,
    );
    return found < 0 ? undefined : candidates.splice(found, 1)[0];
  }
}

/** Deletions and evictions are the same for whoever asks who took an object away. */
function keyOf(resource: string, namespace: string, name: string): string {
  return `${resource.replace(/\/.*$/, "")} ${namespace}/${name}`;
}

/** Reads what was added to a file since it was last asked: whole lines. */
export class AddedLines {
  readonly #file: string;
  #offset = 0;
  #rest = Buffer.alloc(0);

  constructor(file: string) {
    this.#file = file;
  }

  read(): string[] {
    if (!existsSync(this.#file)) return [];
    const descriptor = openSync(this.#file, "r");
    try {
      const piece = Buffer.alloc(1 << 20);
      for (let size = 1; size > 0; ) {
        size = readSync(descriptor, piece, 0, piece.length, this.#offset);
        this.#offset += size;
        this.#rest = Buffer.concat([this.#rest, piece.subarray(0, size)]);
      }
    } finally {
      closeSync(descriptor);
    }
    const end = this.#rest.lastIndexOf("\n") + 1;
    const lines = this.#rest.subarray(0, end).toString("utf8").split("\n");
    this.#rest = this.#rest.subarray(end);
    return lines.filter((line) => line !== "");
  }
}
