import { cleanup } from "@testing-library/react";
import { afterEach } from "vitest";

afterEach(cleanup);

// happy-dom has no fonts; a text area that grows listens to their loading.
Object.defineProperty(document, "fonts", { value: new EventTarget() });
