/** Admission of StatefulSets, both versions. Spec: statefulset 6. */
import {
  type DecodedStatefulSet,
  decodeStatefulSet,
  defaultStatefulSet,
  type FoundStorageClass,
  SchemaError,
  storageClassNames,
  validateStatefulSet,
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

export interface StatefulSetAdmissionOptions {
  /** False with gate TemplateNoDefaults. */
  templateDefaults: boolean;
  /** Gate DefaultHostNetworkHostPortsInPodTemplates. */
  hostNetworkPorts: boolean;
  /** Gate ResourcesDeletionProtection. */
  deletionProtection: boolean;
  /** Gate StatefulSetAutoDeletePVC. */
  deletesClaims: boolean;
  /** Gate StatefulSetAutoResizePVCGate. */
  resizesClaims: boolean;
  /** A class by name, the newest default class for undefined; undefined when there is none. */
  lookupStorageClass(name: string | undefined): Promise<FoundStorageClass | undefined>;
}

/** The handler of `/mutate-apps-kruise-io-statefulset`. */
export function mutateStatefulSet(options: StatefulSetAdmissionOptions): AdmissionHandler {
  return (request) => {
    if (request.object === undefined) return denied(400, "there is no content to decode");
    const decoded = decode(request.object);
    if ("allowed" in decoded) return decoded;
    const old = request.operation === "UPDATE" ? request.oldObject : undefined;
    const { templateDefaults, hostNetworkPorts, deletesClaims, resizesClaims } = options;
    const defaulted = defaultStatefulSet(request.object, {
      templateDefaults,
      hostNetworkPorts,
      deletesClaims,
      resizesClaims,
      ...(old === undefined ? {} : { old }),
    });
    return patched(diffPositional(request.object, defaulted));
  };
}

/** The handler of `/validate-apps-kruise-io-statefulset`. */
export function validateStatefulSetRequest(options: StatefulSetAdmissionOptions): AdmissionHandler {
  return (request) => {
    if (request.operation === "DELETE")
      return options.deletionProtection ? protectReplicas(request) : allowed;
    if (request.object === undefined) return denied(400, "there is no content to decode");
    const next = decode(request.object);
    if ("allowed" in next) return next;
    return validate(next, decodeOld(request), options);
  };
}

/** What was stored while no webhook looked may be malformed; that must not keep anybody from putting it right. */
function decodeOld(request: AdmissionRequest): DecodedStatefulSet | undefined {
  if (request.operation !== "UPDATE" || request.oldObject === undefined) return undefined;
  const old = decode(request.oldObject);
  return "allowed" in old ? undefined : old;
}

function decode(object: JsonObject): DecodedStatefulSet | AdmissionResponse {
  try {
    const decoded = decodeStatefulSet(object);
    return "errors" in decoded ? denied(400, formatFieldErrors(decoded.errors)) : decoded;
  } catch (error) {
    if (error instanceof SchemaError) return denied(400, error.message);
    throw error;
  }
}

async function validate(
  next: DecodedStatefulSet,
  old: DecodedStatefulSet | undefined,
  options: StatefulSetAdmissionOptions,
): Promise<AdmissionResponse> {
  const classes = new Map<string | undefined, FoundStorageClass | undefined>();
  if (options.resizesClaims && old?.version === "v1beta1" && next.version === "v1beta1") {
    for (const name of storageClassNames(next.object.spec)) {
      if (!classes.has(name)) classes.set(name, await options.lookupStorageClass(name));
    }
  }
  const errors = validateStatefulSet(next, old, {
    resizesClaims: options.resizesClaims,
    storageClasses: (name) => classes.get(name),
  });
  return errors.length === 0 ? allowed : denied(422, formatFieldErrors(errors));
}
