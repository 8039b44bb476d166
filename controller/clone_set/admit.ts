/** Admission of CloneSets, both versions. Spec: cloneset 6. */
import {
  type DecodedCloneSet,
  decodeCloneSet,
  defaultCloneSet,
  type FoundPod,
  newPodsToDelete,
  SchemaError,
  validateCloneSet,
} from "../../crds/index.ts";
import { diffPositional, formatFieldErrors, type JsonObject } from "../../kube/core/index.ts";
import { protectReplicas } from "../admission/deletion_protection.ts";
import {
  type AdmissionHandler,
  type AdmissionRequest,
  type AdmissionResponse,
  allowed,
  denied,
  patched,
} from "../admission/request.ts";

export interface CloneSetAdmissionOptions {
  /** False with gate TemplateNoDefaults. */
  templateDefaults: boolean;
  /** Gate DefaultHostNetworkHostPortsInPodTemplates. */
  hostNetworkPorts: boolean;
  /** Gate ResourcesDeletionProtection. */
  deletionProtection: boolean;
  /** Flag --allow-privileged. */
  allowPrivileged: boolean;
  /** Undefined when there is no such pod; rejects when that cannot be found out. */
  lookupPod(namespace: string, name: string): Promise<FoundPod | undefined>;
}

/** The handler of `/mutate-apps-kruise-io-cloneset`. */
export function mutateCloneSet(options: CloneSetAdmissionOptions): AdmissionHandler {
  return (request) => {
    if (request.object === undefined) return denied(400, "there is no content to decode");
    const decoded = decode(request.object);
    if ("allowed" in decoded) return decoded;
    const old = request.operation === "UPDATE" ? request.oldObject : undefined;
    const defaulted = defaultCloneSet(request.object, {
      templateDefaults: options.templateDefaults,
      hostNetworkPorts: options.hostNetworkPorts,
      ...(old === undefined ? {} : { old }),
    });
    return patched(diffPositional(request.object, defaulted));
  };
}

/** The handler of `/validate-apps-kruise-io-cloneset`. */
export function validateCloneSetRequest(options: CloneSetAdmissionOptions): AdmissionHandler {
  return (request) => {
    if (request.operation === "DELETE")
      return options.deletionProtection ? protectReplicas(request) : allowed;
    if (request.object === undefined) return denied(400, "there is no content to decode");
    const next = decode(request.object);
    if ("allowed" in next) return next;
    if (request.operation !== "UPDATE" || request.oldObject === undefined)
      return validate(request, next, undefined, options);
    const old = decode(request.oldObject);
    // What was stored while no webhook looked may be malformed; that must not keep anybody from putting it right.
    return validate(request, next, "allowed" in old ? undefined : old, options);
  };
}

function decode(object: JsonObject): DecodedCloneSet | AdmissionResponse {
  try {
    const decoded = decodeCloneSet(object);
    return "errors" in decoded ? denied(400, formatFieldErrors(decoded.errors)) : decoded;
  } catch (error) {
    if (error instanceof SchemaError) return denied(400, error.message);
    throw error;
  }
}

async function validate(
  request: AdmissionRequest,
  next: DecodedCloneSet,
  old: DecodedCloneSet | undefined,
  options: CloneSetAdmissionOptions,
): Promise<AdmissionResponse> {
  const pods = new Map<string, FoundPod>();
  const problems: string[] = [];
  for (const name of newPodsToDelete(next, old)) {
    try {
      const pod = await options.lookupPod(request.namespace, name);
      if (pod !== undefined) pods.set(name, pod);
    } catch (error) {
      problems.push(`find pod ${name} failed: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  if (problems.length > 0)
    return denied(422, `spec.scaleStrategy.podsToDelete: Internal error: ${problems.join("; ")}`);
  const errors = validateCloneSet(next, old, {
    allowPrivileged: options.allowPrivileged,
    findPod: (name) => pods.get(name),
  });
  return errors.length === 0 ? allowed : denied(422, formatFieldErrors(errors));
}
