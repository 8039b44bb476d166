/** ConversionReview of apiextensions.k8s.io, versions v1 and v1beta1. Spec: platform 4.5. */
import { isJsonObject, type JsonObject, own } from "../../../kube/core/index.ts";
import { messageOf } from "../../../kube/index.ts";
import { parseBody } from "./review.ts";

/** Converts one object to an apiVersion; throws when it cannot. */
export type Converter = (object: JsonObject, apiVersion: string) => JsonObject;

/** The answer's bytes and whether the body was a review at all. */
export function answerConversion(body: Buffer, convert: Converter): { code: number; text: string } {
  const review = decode(body);
  if (typeof review === "string")
    return { code: 400, text: answer("apiextensions.k8s.io/v1", "", failed(review)) };
  const { apiVersion, uid, desired, objects } = review;
  try {
    const convertedObjects = objects.map((object, index) => {
      if (!isJsonObject(object)) throw new Error(`objects[${index}] is no object`);
      return convert(object, desired);
    });
    return { code: 200, text: answer(apiVersion, uid, { convertedObjects, result: { status: "Success" } }) };
  } catch (error) {
    const message = `conversion to ${desired} failed: ${messageOf(error)}`;
    return { code: 200, text: answer(apiVersion, uid, failed(message)) };
  }
}

const versions = ["apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1"];

function decode(
  body: Buffer,
): { apiVersion: string; uid: string; desired: string; objects: unknown[] } | string {
  const parsed = parseBody(body);
  if (typeof parsed === "string") return parsed;
  const { apiVersion } = parsed;
  if (
    parsed["kind"] !== "ConversionReview" ||
    typeof apiVersion !== "string" ||
    !versions.includes(apiVersion)
  ) {
    return `request body is no ConversionReview of ${versions.join(" or ")}`;
  }
  const request = own(parsed, "request");
  if (!isJsonObject(request)) return "ConversionReview has no request";
  const { uid, desiredAPIVersion, objects } = request;
  if (typeof uid !== "string" || typeof desiredAPIVersion !== "string" || !Array.isArray(objects)) {
    return "ConversionReview needs request.uid, request.desiredAPIVersion and request.objects";
  }
  return { apiVersion, uid, desired: desiredAPIVersion, objects };
}

function failed(message: string): JsonObject {
  return { convertedObjects: [], result: { status: "Failed", message } };
}

function answer(apiVersion: string, uid: string, response: JsonObject): string {
  return JSON.stringify({ kind: "ConversionReview", apiVersion, response: { uid, ...response } });
}
