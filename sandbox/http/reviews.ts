/** Reviews of access and of users: questions that are answered and never stored. */
import { type FieldError, invalid as fieldInvalid } from "../../kube/core/index.ts";
import type { Attributes } from "../authorization/attributes.ts";
import { type Authorizer, aggregated } from "../authorization/authorizer.ts";
import { type Fields, fieldsAt, isFields, listAt, textAt, textsAt } from "../json.ts";
import type { Tokens } from "../tokens.ts";
import type { World } from "../world.ts";
import type { User } from "../writes/request.ts";
import { badRequest, invalid } from "./api_error.ts";
import { expectedCore, readObject } from "./body.ts";
import { type Exchange, jsonReply, type Reply } from "./exchange.ts";

/** `entry` is the kind's line of the discovery document; `namespace` is empty for kinds of the cluster. */
export async function reviewReply(
  { authorizer, tokens }: Pick<World, "authorizer" | "tokens">,
  exchange: Exchange,
  namespace: string,
  entry: Fields,
): Promise<Reply> {
  const kind = textAt(entry, "kind");
  const body = await readObject(exchange, expectedCore(textAt(entry, "groupVersion"), kind));
  switch (kind) {
    case "TokenReview":
      return jsonReply(201, { ...body, status: tokenStatus(tokens, textAt(body, "spec", "token")) });
    case "SelfSubjectReview":
      return jsonReply(201, { ...body, status: { userInfo: exchange.user } });
    case "SelfSubjectRulesReview":
      return jsonReply(201, { ...body, spec: {}, status: rulesStatus(authorizer, exchange.user, body) });
    default:
      if (kind === "LocalSubjectAccessReview") body.metadata.namespace ??= namespace;
      checkAccessReview(kind, body, namespace);
      return jsonReply(201, { ...body, status: accessStatus(authorizer, exchange.user, body) });
  }
}

function tokenStatus(tokens: Tokens, token: string): Fields {
  const user = tokens.userOf(token);
  if (user === undefined) return { user: {}, error: "invalid bearer token" };
  return { authenticated: true, user, audiences: ["https://kubernetes.default.svc"] };
}

function rulesStatus(authorizer: Authorizer, user: User, body: Fields): Fields {
  const namespace = textAt(body, "spec", "namespace");
  if (namespace === "") throw badRequest("no namespace on request");
  const { rules, errors } = authorizer.rulesFor(user, namespace);
  return {
    resourceRules: rules
      .filter(({ resources }) => resources.length > 0)
      .map(({ verbs, apiGroups, resources, resourceNames }) => ({
        verbs,
        apiGroups,
        resources,
        ...(resourceNames.length === 0 ? {} : { resourceNames }),
      })),
    nonResourceRules: rules
      .filter(({ nonResourceURLs }) => nonResourceURLs.length > 0)
      .map(({ verbs, nonResourceURLs }) => ({ verbs, nonResourceURLs })),
    incomplete: false,
    ...(errors.length === 0 ? {} : { evaluationError: aggregated(errors) }),
  };
}

function checkAccessReview(kind: string, body: Fields, namespace: string): void {
  const spec = fieldsAt(body, "spec");
  const resource = spec["resourceAttributes"];
  const path = spec["nonResourceAttributes"];
  const errors: FieldError[] = [];
  if (isFields(resource) && isFields(path)) {
    const detail = "cannot be specified in combination with resourceAttributes";
    errors.push(fieldInvalid("spec.nonResourceAttributes", path, detail));
  }
  if (!isFields(resource) && !isFields(path)) {
    const detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
    errors.push(fieldInvalid("spec.resourceAttributes", null, detail));
  }
  if (!kind.startsWith("Self") && textAt(spec, "user") === "" && listAt(spec, "groups").length === 0) {
    errors.push(fieldInvalid("spec.user", "", "at least one of user or group must be specified"));
  }
  if (kind === "LocalSubjectAccessReview") {
    const asked = textAt(resource, "namespace");
    if (isFields(resource) && asked !== namespace) {
      errors.push(fieldInvalid("spec.resourceAttributes.namespace", asked, "must match metadata.namespace"));
    }
    if (isFields(path)) {
      errors.push(fieldInvalid("spec.nonResourceAttributes", path, "disallowed on this kind of request"));
    }
  }
  // The server has lost the kind by then.
  if (errors.length > 0) throw invalid({ group: "authorization.k8s.io", kind: "" }, "", errors);
}

function accessStatus(authorizer: Authorizer, self: User, body: Fields): Fields {
  const { allowed, reason } = authorizer.authorize(askedAttributes(self, body));
  return { allowed, ...(reason === "" ? {} : { reason }) };
}

/** Reviews of oneself name no user. */
function askedAttributes(self: User, body: Fields): Attributes {
  const spec = fieldsAt(body, "spec");
  const isOther = textAt(spec, "user") !== "" || listAt(spec, "groups").length > 0;
  const user: User = isOther ? { username: textAt(spec, "user"), groups: textsAt(spec, "groups") } : self;
  const path = spec["nonResourceAttributes"];
  if (isFields(path)) return { user, verb: textAt(path, "verb"), path: textAt(path, "path") };
  const asked = fieldsAt(spec, "resourceAttributes");
  const text = (name: string): string => textAt(asked, name);
  return {
    user,
    verb: text("verb"),
    group: text("group"),
    resource: text("resource"),
    subresource: text("subresource"),
    namespace: text("namespace"),
    name: text("name"),
  };
}
