/** One place turns whatever went wrong with a call into words. */

import { t, tData } from "../i18n";
import { byPages } from "../i18n/pages";
import { NoAnswer } from "./passkey";
import type { Problem } from "./schema";

export class ApiError extends Error {
  constructor(readonly problem: Problem) {
    super(problem.detail);
    this.name = "ApiError";
  }
}

/** The service did not answer at all. */
export class Unreachable extends Error {
  constructor() {
    super(t("error.unreachable"));
    this.name = "Unreachable";
  }
}

export interface Words {
  title: string;
  detail: string;
  code: string | null;
}

export function inWords(error: unknown): Words {
  if (error instanceof ApiError) {
    const { code, title, detail } = error.problem;
    return { title: tData("problem", code, title), detail: byPages(detail), code };
  }
  if (error instanceof Unreachable) return { title: t("error.unreachable"), detail: t("error.unreachable.detail"), code: null };
  if (error instanceof NoAnswer) return { title: t("passkey.noAnswer.title"), detail: error.message, code: null };
  return { title: t("error.unexpected"), detail: error instanceof Error ? error.message : String(error), code: null };
}

export function isStatus(error: unknown, status: number): boolean {
  return error instanceof ApiError && error.problem.status === status;
}

/** Which proof is wanted; nothing where an answer of something else before the service says nothing that can be read. */
function toProof(said: unknown): Problem["proof"] {
  return isProof(said) ? said : null;
}

function isProof(said: unknown): said is NonNullable<Problem["proof"]> {
  return typeof said === "object" && said !== null && Array.isArray(Reflect.get(said, "ways"));
}

/** A problem document, or the best that can be made of an answer that is none. */
export function toProblem(body: unknown, response: Response): Problem {
  const field = (name: string): unknown => (typeof body === "object" && body !== null ? Reflect.get(body, name) : undefined);
  const text = (name: string, fallback: string): string => {
    const value = field(name);
    return typeof value === "string" ? value : fallback;
  };
  const fields = field("fields");
  return {
    type: text("type", "about:blank"),
    title: text("title", t("error.status", { status: response.status })),
    status: response.status,
    code: text("code", `http_${response.status.toString()}`),
    detail: text("detail", response.statusText || t("error.status", { status: response.status })),
    instance: null,
    fields: Array.isArray(fields) ? fields.map(String) : [],
    proof: toProof(field("proof")),
  };
}
