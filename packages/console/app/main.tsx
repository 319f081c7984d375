import { render } from "preact"
import { App } from "./App.tsx"
import { startSession } from "./session/session.ts"
import "./layout/theme.ts"
import "./styles/theme.css"
import "./styles/base.css"
import "./styles/components.css"
import "./styles/layout.css"

const root = document.getElementById("app")
if (root !== null) render(<App />, root)
void startSession()
