/** Calls of the service. Every path and shape comes from its OpenAPI document; failures are thrown as `ApiError` or `Unreachable`. */

import createClient from "openapi-fetch";
import { heard, lost } from "./connection";
import { ApiError, toProblem, Unreachable } from "./problem";
import type { paths } from "./schema";

/** `fetch` that tells the connection banner what it saw. */
export async function observedFetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  try {
    const response = await fetch(input, init);
    heard();
    return response;
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    lost();
    throw new Unreachable();
  }
}

export const api = createClient<paths>({
  baseUrl: window.location.origin,
  credentials: "same-origin",
  fetch: observedFetch,
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

/** For calls that answer with nothing. */
export async function done(call: Promise<Answer<unknown>>): Promise<void> {
  const { error, response } = await call;
  if (!response.ok) throw new ApiError(toProblem(error, response));
}
