import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { observedFetch } from "./client";
import { connection, heard } from "./connection";
import { Unreachable } from "./problem";
import { placeHere } from "./session";

const replace = vi.fn();
const answers = vi.fn<() => Promise<Response>>();

beforeEach(() => {
  vi.stubGlobal("fetch", answers);
  vi.spyOn(window.location, "replace").mockImplementation(replace);
  heard();
});
afterEach(() => vi.unstubAllGlobals());

const ask = (path = "/api/v1/nodes") => observedFetch(new Request(`http://localhost${path}`));
const problem = (status: number) => new Response("{}", { status, headers: { "content-type": "application/problem+json" } });

describe("the connection", () => {
  it.each([502, 503, 504])("is lost when a proxy answers %i for a service that is gone", async (status) => {
    answers.mockResolvedValue(new Response("<h1>Bad Gateway</h1>", { status, headers: { "content-type": "text/html" } }));
    await expect(ask()).rejects.toBeInstanceOf(Unreachable);
    expect(connection().lostAt).not.toBeNull();
  });
  it("is there when the service itself says that it is too busy", async () => {
    answers.mockResolvedValue(problem(503));
    expect((await ask()).status).toBe(503);
    expect(connection().lostAt).toBeNull();
  });
  it("is lost when nothing answers, and keeps the time of the last answer", async () => {
    const last = connection().heardAt;
    answers.mockRejectedValue(new TypeError("failed"));
    await expect(ask()).rejects.toBeInstanceOf(Unreachable);
    expect(connection()).toMatchObject({ heardAt: last });
    answers.mockResolvedValue(new Response("{}"));
    await ask();
    expect(connection().lostAt).toBeNull();
  });
  it("is not lost when a page gives up its own request", async () => {
    answers.mockRejectedValue(new DOMException("stop", "AbortError"));
    await expect(ask()).rejects.toHaveProperty("name", "AbortError");
    expect(connection().lostAt).toBeNull();
  });
});

describe("the session", () => {
  it("is not ended by a wrong password, and is by any other 401", async () => {
    answers.mockResolvedValue(problem(401));
    await ask("/api/v1/sessions");
    expect(replace).not.toHaveBeenCalled();
    await ask();
    expect(replace).toHaveBeenCalledWith(expect.stringMatching(/^\/sign-in\?next=/));
  });
  it.each([
    ["/transfers?find=a", "/transfers?find=a"],
    ["//evil.example", "/transfers"],
    ["/\\evil.example", "/transfers"],
    ["https://evil.example", "/transfers"],
    [undefined, "/transfers"],
  ])("leads on to %s only within this console", (next, place) => expect(placeHere(next)).toBe(place));
});
