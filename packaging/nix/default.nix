# nix-build packaging/nix
{ pkgs ? import <nixpkgs> { } }:
let
  manifest = (builtins.fromTOML (builtins.readFile ../../Cargo.toml)).workspace.package;
in
pkgs.rustPlatform.buildRustPackage {
  pname = "culd";
  inherit (manifest) version;
  src = pkgs.lib.cleanSource ../..;
  cargoLock.lockFile = ../../Cargo.lock;
  cargoBuildFlags = [ "-p" "culd" "--bin" "culd" ];
  # the recorded links; they need neither CUDA nor a GPU
  cargoTestFlags = [ "-p" "culd-tests" "--test" "recorded" ];
  postInstall = ''
    install -Dm644 packaging/cmake/culdConfig.cmake $out/share/cmake/culd/culdConfig.cmake
    install -Dm644 -t $out/share/doc/culd LICENSE-MIT LICENSE-APACHE README.md
  '';
  meta = {
    description = "Device linker for CUDA, also as a replacement for nvlink";
    license = with pkgs.lib.licenses; [ mit asl20 ];
    mainProgram = "culd";
  };
}
