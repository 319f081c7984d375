export { files } from "./files.generated.ts"
