export {
  type Admission,
  makeAdmit,
  type RequestConsumer,
  type RequestReader,
  type RequireApiKeyOptions
} from "./admit.ts"
export { type Mountable, type NodeHandler, type NodeHandlerOptions, toNodeHandler } from "./toNodeHandler.ts"
