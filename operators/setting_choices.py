"""The choices of the scene's settings: identifier, label and tooltip, as Blender's EnumProperty takes them."""

HAND_ITEMS = (
    ("auto", "Auto", "All hands in the capture"),
    ("left", "Left", "Left hand only"),
    ("right", "Right", "Right hand only"),
    ("both", "Both", "Both hands; a capture of one hand is an error"),
)

LANDMARKS_ITEMS = (
    ("picture", "Picture", "Fit a hand of constant bones to the landmarks in the camera's picture"),
    ("world", "World", "Take the world landmarks of the detector as they are"),
)

LABEL_ITEMS = (
    ("auto", "Auto", "By label; if the labels are unknown, by the shape and motion of the hand"),
    ("names", "Labels", "By label only"),
    ("shape", "Shape", "By the shape and motion of the hand, ignoring labels"),
)

DRIVE_ITEMS = (
    ("auto", "Auto", "The fingers of a hand on an arm; fingers and wrist of a hand without one"),
    ("fingers", "Fingers", "The fingers move relative to the wrist; wrist and arm keep the character's own motion"),
    (
        "wrist",
        "Wrist",
        "The hand also rotates as it was captured. If a recording shows the elbow, its wrist bends against the "
        "character's forearm as the performer's did. A hand without an arm is also where it was captured",
    ),
    ("arm", "Arm", "The arm also moves, so that the wrist is where it was captured"),
)

KEEP_ITEMS = (
    ("directions", "Match Rotations", "Bones point in the same directions as the performer's"),
    ("fingertips", "Match Tips", "Fingertips are in the same positions relative to the wrist as the performer's"),
    ("pinches", "Match Contacts", "As Match Rotations, and thumb and fingers touch where the performer's do"),
)

SCALE_ITEMS = (
    ("hand", "Hand", "Scale positions and distances to the size of the armature's hand"),
    ("world", "World", "Keep the performer's positions and distances in meters, for props of real size"),
)

PLACEMENT_ITEMS = (
    ("auto", "Auto", "As the marker set defines"),
    ("joints", "Joints", "On the joints: the solver's result is used, which reaches the fingertips"),
    ("skin", "Skin", "On the skin: the performer is fitted with the markers, and all of them count equally"),
)

KEYFRAME_ITEMS = (
    ("SCENE", "Scene Frames", "A keyframe on every frame of the scene"),
    (
        "CAPTURE",
        "Capture Frames",
        "A keyframe for every frame of the capture, on subframes of the scene where rates differ",
    ),
    ("OTHER", "Custom FPS", "Keyframes at a custom rate"),
)

TARGET_ITEMS = (
    ("NEW", "New Hand", "Add a hand fitted to the performer for each hand that is solved"),
    ("ARMATURE", "Armature", "Apply it to an armature in this file"),
)

INTO_ITEMS = (
    ("new", "New Take", "A new action; a take of the same bones is replaced, and keeps its keys"),
    ("this", "This Take", "The take that the armature plays: its keys on the solved frames are replaced"),
)
