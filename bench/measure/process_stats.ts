/** CPU, memory and bytes of a process, from the kernel's own accounts, on Linux only; and how busy the machine is. */
import { readFileSync } from "node:fs";
import { cpus } from "node:os";

/** Clock ticks a second of /proc/<pid>/stat; fixed by the ABI on every Linux that Node runs on. */
const TICKS = 100;

export interface ProcessSample {
  /** User and system time since its start, seconds. */
  cpuSeconds: number;
  residentMb: number;
  /**
   * Bytes that went through read and write calls since its start: for a manager that is its sockets, TLS included,
   * and some log lines. Absent when the kernel does not let this user see it.
   */
  io?: { readBytes: number; writtenBytes: number };
}

export function sampleProcess(pid: number): ProcessSample | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The command name may hold spaces and parentheses: fields are counted after its end.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    // A process that ended and was not yet waited for has no memory any more.
    if (fields[0] === "Z") return undefined;
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    const residentKb = Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0);
    const io = ioOf(pid);
    return {
      cpuSeconds: (Number(fields[11]) + Number(fields[12])) / TICKS,
      residentMb: residentKb / 1024,
      ...(io === undefined ? {} : { io }),
    };
  } catch {
    return undefined;
  }
}

function ioOf(pid: number): { readBytes: number; writtenBytes: number } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/io`, "utf8");
    const read = /^rchar: (\d+)/m.exec(text)?.[1];
    const written = /^wchar: (\d+)/m.exec(text)?.[1];
    return read === undefined || written === undefined
      ? undefined
      : { readBytes: Number(read), writtenBytes: Number(written) };
  } catch {
    return undefined;
  }
}

/** Milliseconds that all processors together spent since the machine began. */
export interface ProcessorTimes {
  readonly idle: number;
  readonly total: number;
}

export function processorTimes(): ProcessorTimes {
  const times = cpus().map(({ times }) => times);
  const sum = (of: (one: (typeof times)[number]) => number) =>
    times.reduce((total, one) => total + of(one), 0);
  return {
    idle: sum(({ idle }) => idle),
    total: sum(({ user, nice, sys, idle, irq }) => user + nice + sys + idle + irq),
  };
}

/** Share of the time between the two in which processors had work, 0 to 1. */
export function busyShare(before: ProcessorTimes, after: ProcessorTimes): number {
  const total = after.total - before.total;
  return total <= 0 ? 0 : 1 - (after.idle - before.idle) / total;
}
