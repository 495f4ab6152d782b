/** Calls of the service. Every path and shape comes from its OpenAPI document; failures are thrown as `ApiError` or `Unreachable`. */

import createClient from "openapi-fetch";
import { heard, lost } from "./connection";
import { ApiError, toProblem, Unreachable } from "./problem";
import type { paths } from "./schema";
import { sessionEnded } from "./session";

/** Longer than the service itself lets a request take (60 s): after this, the connection is dead. */
const ANSWER_LIMIT_MS = 65_000;
/** What a proxy answers when the service behind it is gone. The service's own refusals are problem documents. */
const GATEWAY: readonly number[] = [502, 503, 504];
const SIGN_IN: readonly string[] = ["/api/v1/sessions", "/api/v1/sessions/passkey"];

/** `fetch` that tells the connection banner what it saw, and that notices the end of the session. */
export async function observedFetch(request: Request): Promise<Response> {
  const response = await reached(request);
  if (GATEWAY.includes(response.status) && !response.headers.get("content-type")?.startsWith("application/problem+json")) {
    lost();
    throw new Unreachable();
  }
  heard();
  // A wrong password or passkey is a 401, too, but ends nothing.
  if (response.status === 401 && !SIGN_IN.includes(new URL(request.url).pathname)) sessionEnded();
  return response;
}

async function reached(request: Request): Promise<Response> {
  try {
    return await fetch(request);
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    lost();
    throw new Unreachable();
  }
}

/** A request that is given up after `limitMs`, its whole answer included. */
export function limited(request: Request, limitMs: number): Request {
  return new Request(request, { signal: AbortSignal.any([request.signal, AbortSignal.timeout(limitMs)]) });
}

export const api = createClient<paths>({
  baseUrl: window.location.origin,
  credentials: "same-origin",
  fetch: (request) => observedFetch(limited(request, ANSWER_LIMIT_MS)),
});

interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

export async function answer<T>(call: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await call;
  if (!response.ok || data === undefined) throw new ApiError(toProblem(error, response));
  return data;
}

/** For lists that come in one page. */
export async function items<T>(call: Promise<Answer<{ items: T[] }>>): Promise<T[]> {
  return (await answer(call)).items;
}

/** For calls that answer with nothing. */
export async function done(call: Promise<Answer<unknown>>): Promise<void> {
  const { error, response } = await call;
  if (!response.ok) throw new ApiError(toProblem(error, response));
}
