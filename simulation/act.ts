/** What people do in a story, and what goes wrong. */
import type { FaultRule } from "../sandbox/index.ts";
import type { RuntimeTrouble } from "./runtime_socket.ts";

export type Act =
  | { readonly act: "create"; readonly path: string; readonly manifest: object }
  | { readonly act: "change"; readonly path: string; readonly patch: object }
  | { readonly act: "delete"; readonly path: string }
  /** Of pods: `share` says which of those that are there. */
  | { readonly act: "delete pod" | "evict pod" | "crash container"; readonly share: number }
  /** Of claims: as of pods. One that is replaced goes with its pod, and somebody else makes one by its name as soon as it is gone. */
  | { readonly act: "delete claim" | "replace claim"; readonly share: number }
  /** By force also where it was made anew meanwhile. */
  | { readonly act: "recreate containers"; readonly share: number; readonly force?: boolean }
  /** Dies at once, or after so many of its writes are stored; comes back later. */
  | {
      readonly act: "kill replica";
      readonly number: number;
      readonly afterWrites: number;
      readonly downMs: number;
    }
  /** Does nothing for a while, at once or after so many of its writes are stored, and then goes on where it was. */
  | {
      readonly act: "stop replica";
      readonly number: number;
      readonly afterWrites: number;
      readonly forMs: number;
    }
  | { readonly act: "skew clock"; readonly number: number; readonly ms: number }
  | { readonly act: "fault"; readonly rule: FaultRule; readonly forMs: number }
  | { readonly act: "break watches"; readonly how: "end" | "drop" | "truncate"; readonly share: number }
  | { readonly act: "silence watches"; readonly share: number; readonly forMs: number }
  /** All that a replica lists and watches comes from a server that is behind by so much: its watches begin again there. */
  | {
      readonly act: "move to server behind";
      readonly number: number;
      readonly ms: number;
      readonly forMs: number;
    }
  /** The server: nothing that replicas send arrives, their watches end, and it has forgotten what they have seen. */
  | { readonly act: "restart server"; readonly forMs: number }
  /** One container fails its probe. */
  | { readonly act: "fail probe"; readonly share: number; readonly forMs: number }
  | { readonly act: "kill node" | "cordon node"; readonly name: string; readonly forMs: number }
  | { readonly act: "drain node"; readonly name: string; readonly forMs: number }
  /** Dies at once, or after so many steps of writing its files and stopping containers; comes back later. */
  | {
      readonly act: "restart agent";
      readonly name: string;
      readonly afterSteps: number;
      readonly downMs: number;
    }
  /** `share` says which of the files of the node's agent. */
  | {
      readonly act: "tear state file";
      readonly name: string;
      readonly share: number;
      readonly how: "half" | "garbage";
    }
  | { readonly act: "lose state file"; readonly name: string; readonly share: number }
  | { readonly act: "fill disk"; readonly name: string; readonly forMs: number }
  /** At once, or in the midst of the call with that number, from now, that stops a container or pulls an image. */
  | {
      readonly act: "fail runtime";
      readonly name: string;
      readonly how: RuntimeTrouble;
      readonly afterCalls: number;
      readonly forMs: number;
    }
  /** Those of a node that would end meanwhile never do. */
  | { readonly act: "hang pulls"; readonly name: string; readonly forMs: number }
  | { readonly act: "fail pull"; readonly image: string; readonly forMs: number }
  /** Somebody writes what is not theirs: a merge patch of a pod, of owners of these kinds where they are given. */
  | {
      readonly act: "edit pod";
      readonly share: number;
      readonly patch: object;
      readonly kinds?: readonly string[];
    }
  /** A finalizer of somebody else keeps it from going. */
  | { readonly act: "hold pod"; readonly share: number; readonly forMs: number }
  | { readonly act: "edit status"; readonly path: string; readonly status: object }
  /** Of what controllers have made for the objects of people. */
  | { readonly act: "edit child"; readonly share: number; readonly how: "change" | "delete" };
