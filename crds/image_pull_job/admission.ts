/** Defaults and refusals of ImagePullJobs; both versions are alike. Spec: images P2, P4.19, P5. */
import { cloneJson, ensureObject, type JsonObject, jsonEqual } from "../../kube/core/index.ts";
import { fill } from "../fill.ts";
import {
  defaultPullSettings,
  imageComplaints,
  nodesComplaints,
  pullComplaints,
} from "../image_pull_settings.ts";
import type { Draft } from "../kind_reader.ts";
import type { ImagePullJob } from "./schema.ts";

/** Keeps a job until the copies of its pull secrets are released. */
export const pullJobFinalizer = "apps.kruise.io/deletion-protection";

/** A copy of the object with every default filled in. A new object also gets the finalizer. */
export function defaultImagePullJob(object: JsonObject, isNew: boolean): JsonObject {
  const result = cloneJson(object);
  const spec = ensureObject(result, "spec");
  defaultPullSettings(spec);
  fill(spec, "imagePullPolicy", "IfNotPresent");
  if (isNew) {
    const metadata = ensureObject(result, "metadata");
    const finalizers = metadata["finalizers"];
    const present: unknown[] = Array.isArray(finalizers) ? finalizers : [];
    if (!present.includes(pullJobFinalizer)) metadata["finalizers"] = [...present, pullJobFinalizer];
  }
  return result;
}

/** What is wrong, in the order in which it is said. */
export function imagePullJobComplaints({ spec }: Draft<ImagePullJob>): string[] {
  return [
    ...nodesComplaints(spec ?? {}),
    ...imageComplaints(spec?.image ?? ""),
    ...pullComplaints(spec ?? {}, true),
  ];
}

/** Whether the list of pull secrets differs. */
export function changesPullSecrets(before: Draft<ImagePullJob>, after: Draft<ImagePullJob>): boolean {
  return !jsonEqual(before.spec?.pullSecrets ?? [], after.spec?.pullSecrets ?? []);
}
