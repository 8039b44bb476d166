/** ImageListPullJob: which of its images are not everywhere yet, by the ImagePullJob of each. Spec: images L2. */
import { counted } from "../../../kube/core/index.ts";
import { type AnyObject, countAt, isControlledBy, listAt, textAt } from "../../fields.ts";
import { inNamespace } from "../../resource_types.ts";
import { type Cause, holding } from "../causes/cause.ts";
import type { Facts } from "../causes/facts.ts";
import { timeAt } from "../causes/pod_facts.ts";
import { shownName, shownText } from "../causes/shown_text.ts";
import { type Findings, statusSource } from "./status_source.ts";

export const imageListPullJobStatus = statusSource<readonly AnyObject[]>({
  group: "apps.kruise.io",
  kind: "ImageListPullJob",
  isLasting: false,
  events: ["PullImageFailed"],
  async read(reader, { metadata }) {
    const jobs = await reader.list("apps.kruise.io", "ImagePullJob", { namespace: metadata.namespace });
    const owners = new Set([metadata.uid ?? ""]);
    return (jobs ?? []).filter((job) => isControlledBy(job, owners));
  },
  explain: explainImageListPullJob,
});

/** `children`: the ImagePullJobs that it controls. */
export function explainImageListPullJob(
  job: AnyObject,
  children: readonly AnyObject[],
  facts: Facts,
): Findings {
  const images = listAt(job, "spec", "images").filter((image) => typeof image === "string");
  const byImage = new Map(children.map((child) => [textAt(child, "spec", "image"), child]));
  const isOver = timeAt(job, "status", "completionTime") !== undefined;
  const completed = countAt(job, "status", "completed");
  return {
    summary: `${countAt(job, "status", "succeeded")} of ${counted(images.length, "image")} on all nodes, ${completed} completed`,
    causes: holding([...new Set(images)].map((image) => causeOf(image, byImage.get(image), facts, isOver))),
    ...(isOver ? { isDone: true } : {}),
  };
}

function causeOf(
  image: string,
  child: AnyObject | undefined,
  { subject }: Facts,
  isOver: boolean,
): Cause | undefined {
  if (child === undefined) return isOver ? undefined : notMade(image, subject);
  const desired = countAt(child, "status", "desired");
  const succeeded = countAt(child, "status", "succeeded");
  const failed = countAt(child, "status", "failed");
  const isStarted = timeAt(child, "status", "startTime") !== undefined;
  if (isStarted && failed === 0 && succeeded === desired && desired > 0) return undefined;
  const name = shownName(textAt(child, "metadata", "name") ?? "");
  const nodes = `${succeeded} of ${counted(desired, "node")} ${desired === 1 ? "has" : "have"} it`;
  return {
    reason: failed > 0 ? "PullFailed" : "Pulling",
    message: `image ${shownText(image)}: ${nodes}${failed > 0 ? `, ${counted(failed, "node")} failed` : ""}`,
    until:
      failed > 0 ? "the cause on these nodes is removed, and the job is created again" : "all nodes have it",
    since: timeAt(child, "status", "startTime") ?? timeAt(child, "metadata", "creationTimestamp"),
    next: `refit why imagepulljob/${name}${inNamespace(subject.namespace)}`,
    outlook: failed > 0 ? "stuck" : "moving",
  };
}

function notMade(image: string, { name, namespace, createdAt }: Facts["subject"]): Cause {
  return {
    reason: "NotCreated",
    message: `image ${shownText(image)}: its ImagePullJob is not there yet`,
    until: "the controller has created it",
    since: createdAt,
    next: `kubectl describe ${name}${inNamespace(namespace)}`,
    outlook: "moving",
  };
}
