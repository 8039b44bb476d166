/**
 * Plans what a page asks about, as `refit plan` does: from what the server holds, with requests that only read. Nothing is sent that could
 * change something, not even as a dry run of the server.
 */
import { parseFeatureGates } from "../../../controller/index.ts";
import type { Client } from "../../../kube/index.ts";
import type { ClusterAccess, Host } from "../../command.ts";
import { CliError, describeError } from "../../errors.ts";
import type { AnyObject } from "../../fields.ts";
import type { Target } from "../../target.ts";
import { shownText } from "../../why/causes/shown_text.ts";
import { knownPlans, manifestItem, type PlanItem, storedItem } from "../../why/plan_items.ts";
import { plannerOf } from "../../why/planners.ts";
import { keptClient } from "../kept_client.ts";
import { type Refusal, readJson, refusal } from "../refusals.ts";
import {
  isPlanRequest,
  type PlanAnswer,
  type PlanChoices,
  type PlannedObject,
  type PlanRefusal,
  type PlanRequest,
} from "../shared/plans.ts";
import { keyOfWorkload } from "../watching/fleet.ts";
import { boundedManifest, refuseManyPods } from "./bounded_manifest.ts";
import { planAnswerItem } from "./plan_answer.ts";

export interface PlanningOptions {
  readonly access: ClusterAccess;
  readonly host: Pick<Host, "clock" | "random">;
  /** A workload that is listed; undefined when there is none of that key. */
  targetOf(workload: string): Promise<Target | undefined>;
}

/** A plan lists pods, as `why` does. */
const atATime = 2;
const longestRefusal = 1_000;

export class Planning {
  readonly #options: PlanningOptions;
  #running = 0;

  constructor({ access, ...options }: PlanningOptions) {
    this.#options = { ...options, access: { ...access, client: readingClient(access.client) } };
  }

  /** `body`: JSON, of whatever form. */
  async plan(body: string): Promise<PlanAnswer | PlanChoices | PlanRefusal | Refusal> {
    const request = readJson(body);
    if (!isPlanRequest(request)) return refusal(400, "this is no request for a plan that the page makes");
    if (this.#running >= atATime) return refusal(503, "other plans are being made: ask again in a moment");
    this.#running++;
    try {
      return await this.#answer(request);
    } catch (error) {
      return { refusal: shownText(describeError(error).replace(/^error: /, ""), longestRefusal) };
    } finally {
      this.#running--;
    }
  }

  async #answer({ workload, manifest, at }: PlanRequest): Promise<PlanAnswer | PlanChoices | Refusal> {
    const { access, targetOf } = this.#options;
    const target = workload === undefined ? undefined : await targetOf(workload);
    if (workload !== undefined && target === undefined) return refusal(404, "there is no such workload");
    if (manifest !== undefined)
      return this.#ofManifest(manifest, at, target?.ref.namespace ?? access.namespace);
    if (target === undefined) return refusal(400, "this names nothing that could be planned");
    return this.#ofItem(await storedItem(access, target));
  }

  async #ofItem({ target, planner, subject }: PlanItem): Promise<PlanAnswer> {
    const { access, host } = this.#options;
    const forecast = await planner.forecast({ access, subject, gates: parseFeatureGates(), host });
    return planAnswerItem(target, forecast, host.clock.now());
  }

  /** `namespace`: of objects that name none. */
  async #ofManifest(
    text: string,
    at: number | undefined,
    namespace: string,
  ): Promise<PlanAnswer | PlanChoices> {
    const objects = boundedManifest(text);
    const planned = objects.filter(hasPlan);
    if (at === undefined && planned.length > 1)
      return { choices: planned.map((object) => [objects.indexOf(object), wordsOf(object)]) };
    const [object] = at === undefined ? planned : objects.slice(at, at + 1);
    const access = { ...this.#options.access, namespace };
    const item = object && (await manifestItem(access, object, "the manifest"));
    if (object === undefined || item === undefined)
      throw noPlan(at === undefined ? objects : objects.slice(at, at + 1));
    refuseManyPods(object, item.subject.stored, text.length);
    const [answer, of] = [await this.#ofItem(item), await this.#objectOf(item, object)];
    const others = objects.length - 1;
    if (others === 0) return { ...answer, of };
    const more = `the manifest holds ${others} more ${others === 1 ? "object" : "objects"}, not planned here`;
    return { ...answer, of, notices: [...answer.notices, more] };
  }

  async #objectOf({ target, subject }: PlanItem, object: AnyObject): Promise<PlannedObject> {
    const { type, ref } = target;
    const key = keyOfWorkload(type, ref);
    return {
      key,
      words: wordsOf({ ...object, metadata: ref }),
      namespace: ref.namespace ?? "",
      isStored: subject.stored !== undefined,
      isListed: (await this.#options.targetOf(key)) !== undefined,
    };
  }
}

function hasPlan({ apiVersion = "", kind = "" }: AnyObject): boolean {
  const [group = ""] = apiVersion.split("/");
  return plannerOf({ group, kind }) !== undefined;
}

/** `objects`: those that were asked about. */
function noPlan(objects: readonly AnyObject[]): CliError {
  const [first, ...others] = objects;
  if (first === undefined) return new CliError("the manifest: there is no such object in it");
  const what = others.length === 0 ? `${wordsOf(first)} cannot` : `none of its ${objects.length} objects can`;
  return new CliError(`the manifest: ${what} be planned before it is applied; what can: ${knownPlans}`);
}

/** `CloneSet web in shop`. */
function wordsOf({ kind = "", metadata: { name = "", namespace } }: AnyObject): string {
  return shownText(`${kind} ${name}${namespace === undefined ? "" : ` in ${namespace}`}`);
}

/** What a plan asks of a server can change nothing. */
function readingClient(client: Client): Client {
  const refuse = async (): Promise<never> => {
    throw new CliError("a plan writes nothing");
  };
  return {
    ...keptClient(client),
    create: refuse,
    replace: refuse,
    patch: refuse,
    delete: refuse,
    request: (method, path, body, options) =>
      method === "GET" ? client.request(method, path, body, options) : refuse(),
  };
}
