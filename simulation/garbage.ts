/** What a runtime answers that is out of its mind: bytes that are no message, half of one, and messages that make no sense. */
import { status } from "@grpc/grpc-js";
import { decode, encode, methods } from "../proto/cri/index.ts";
import type { Chance } from "./chance.ts";
import { Refusal } from "./runtime.ts";

const oddCodes = [
  status.CANCELLED,
  status.UNKNOWN,
  status.INVALID_ARGUMENT,
  status.NOT_FOUND,
  status.ALREADY_EXISTS,
  status.RESOURCE_EXHAUSTED,
  status.ABORTED,
  status.INTERNAL,
  status.DATA_LOSS,
] as const;
const hugeNumbers = [-1, 2 ** 31 - 1] as const;
const mostBytes = 40;

/** In place of a true answer, which is empty where nothing was done. Throws Refusal: an error is an answer, too. */
export function garbageFor(chance: Chance, method: string, answer: Uint8Array): Uint8Array {
  switch (chance.whole(0, 4)) {
    case 0:
      return Uint8Array.from({ length: chance.whole(1, mostBytes) }, () => chance.whole(0, 255));
    case 1:
      return answer.subarray(0, chance.whole(0, answer.length));
    case 2:
      return new Uint8Array();
    case 3:
      throw new Refusal(chance.oneOf(oddCodes), "\u0000 out of my mind");
    default:
      return odd(chance, method, answer);
  }
}

/** A message of the right type, of things that there are not: what makes sense is believed. */
function odd(chance: Chance, method: string, answer: Uint8Array): Uint8Array {
  switch (method) {
    case "ListContainers": {
      const { containers } = decode(methods.ListContainers.response, answer);
      const wrong = containers.map((container) => ({
        ...container,
        id: `wrong-${chance.whole(1, 9)}`,
        metadata: chance.is(0.5) ? undefined : { name: "", attempt: chance.oneOf(hugeNumbers) >>> 0 },
        state: chance.whole(0, 99),
        created_at: chance.oneOf(hugeNumbers),
        annotations: {},
      }));
      return encode(methods.ListContainers.response, { containers: [...wrong, {}] });
    }
    case "ContainerStatus": {
      const told = {
        id: "wrong",
        state: chance.whole(0, 99),
        started_at: chance.oneOf(hugeNumbers),
        exit_code: chance.oneOf(hugeNumbers),
      };
      return encode(methods.ContainerStatus.response, { status: told });
    }
    case "ImageStatus":
      return encode(methods.ImageStatus.response, { image: { id: chance.is(0.5) ? "wrong" : "" } });
    default:
      return answer;
  }
}
